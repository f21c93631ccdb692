// SPDX-License-Identifier: BSD-2-Clause
// Finds which of many ranges cover a place, in O(log n). The ranges may overlap.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

namespace fastsdt {

class Cover {
public:
    struct Range {
        uint64_t begin = 0, end = 0; ///< empty unless begin < end
    };

    Cover() = default;
    explicit Cover(const std::vector<Range>& ranges)
    {
        struct Edge {
            uint64_t at;
            size_t range;
            bool begins;
        };
        std::vector<Edge> edges;
        for (size_t i = 0; i < ranges.size(); ++i)
            if (ranges[i].begin < ranges[i].end) {
                edges.push_back({ranges[i].begin, i, true});
                edges.push_back({ranges[i].end, i, false});
            }
        std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.at < b.at; });
        std::set<size_t> open;
        for (size_t i = 0; i < edges.size(); ++i) {
            if (edges[i].begins)
                open.insert(edges[i].range);
            else
                open.erase(edges[i].range);
            if (i + 1 < edges.size() && edges[i + 1].at == edges[i].at)
                continue;
            Piece piece{edges[i].at, {none, none}};
            auto next = open.begin();
            for (size_t& range : piece.first)
                if (next != open.end())
                    range = *next++;
            pieces_.push_back(piece);
        }
    }

    /// Number of the first range, in the order they were given, that covers the place.
    std::optional<size_t> first(uint64_t at) const { return other_than(none, at); }
    /// The same without range `own`.
    std::optional<size_t> other_than(size_t own, uint64_t at) const
    {
        const auto after = std::upper_bound(pieces_.begin(), pieces_.end(), at,
                                            [](uint64_t place, const Piece& piece) { return place < piece.begin; });
        if (after == pieces_.begin())
            return {};
        for (size_t range : (after - 1)->first)
            if (range != none && range != own)
                return range;
        return {};
    }

private:
    static constexpr size_t none = ~size_t(0);
    struct Piece {
        uint64_t begin;              // up to the next one's
        std::array<size_t, 2> first; // of the ranges that cover it
    };
    std::vector<Piece> pieces_;
};

} // namespace fastsdt
