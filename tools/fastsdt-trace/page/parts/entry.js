// SPDX-License-Identifier: BSD-2-Clause
// What page.js takes from others; make.sh makes parts.js and parts.css of it.
import "uplot/dist/uPlot.min.css";
export {default as flamegraph} from "d3-flame-graph";
export {select} from "d3-selection";
export {default as uPlot} from "uplot";
