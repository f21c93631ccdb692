# SPDX-License-Identifier: BSD-2-Clause
# fastsdt for make. After CC, CFLAGS and LDFLAGS are set:
#
#   FASTSDT_ENTRY = auto                # the plugin's arguments, the first is entry=; leave empty for no plugin
#   include $(shell pkg-config --variable=datadir fastsdt)/fastsdt.mk
#   app: app.o
#           $(CC) $(CFLAGS) $(FASTSDT_LDFLAGS) $(LDFLAGS) -o $@ $^
#           $(FASTSDT_POST_LINK)
#   %.o: %.c
#           $(CC) $(CFLAGS) $(FASTSDT_CFLAGS) -c -o $@ $<
#
# FASTSDT_LAYOUT chooses the layout of sites. FASTSDT_POST_LINK indexes and checks $@; FASTSDT_CHECK_LEVEL (error) says
# which findings fail the build, and a file that fails is removed.
FASTSDT_PKG_CONFIG ?= pkg-config
FASTSDT_CHECK_LEVEL ?= error
fastsdt_variable = $(shell $(FASTSDT_PKG_CONFIG) --variable=$(1) fastsdt)

FASTSDT_CFLAGS := $(shell $(FASTSDT_PKG_CONFIG) --cflags fastsdt-compat) $(if $(FASTSDT_LAYOUT),-DFASTSDT_LAYOUT=$(FASTSDT_LAYOUT))
# lld and mold: without it the kernel counts semaphores where the program does not look (docs/linking.md).
fastsdt_linker := $(shell $(CC) $(LDFLAGS) -Wl,--version 2>&1)
FASTSDT_LDFLAGS :=
ifneq ($(filter LLD mold,$(fastsdt_linker)),)
  FASTSDT_LDFLAGS += -Wl,-z,separate-loadable-segments
endif
FASTSDT_POST_LINK = $(call fastsdt_variable,index) -q $@ && \
    $(call fastsdt_variable,check) --only $(FASTSDT_CHECK_LEVEL) --fail-on $(FASTSDT_CHECK_LEVEL) $@ >&2 || { rm -f $@; exit 1; }

ifneq ($(FASTSDT_ENTRY),)
  fastsdt_macros := $(shell echo | $(CC) -dM -E - | awk '/__clang_major__|__GNUC__|__aarch64__/ {print $$2 "=" $$3}')
  fastsdt_clang := $(patsubst __clang_major__=%,%,$(filter __clang_major__=%,$(fastsdt_macros)))
  fastsdt_gcc := $(patsubst __GNUC__=%,%,$(filter __GNUC__=%,$(fastsdt_macros)))
  ifneq ($(fastsdt_clang),)
    fastsdt_dir := $(call fastsdt_variable,plugindir)/llvm-$(fastsdt_clang)
  else
    fastsdt_dir := $(call fastsdt_variable,plugindir)/gcc-$(fastsdt_gcc)$(if $(filter __aarch64__=%,$(fastsdt_macros)),-aarch64)
  endif
  ifeq ($(wildcard $(fastsdt_dir)/fastprobe.so),)
    $(error fastsdt: no compiler plugin for $(CC): there is no $(fastsdt_dir)/fastprobe.so)
  endif
  fastsdt_plugin := -fplugin=$(fastsdt_dir)/fastprobe.so \
      $(addprefix -fplugin-arg-fastprobe-,entry=$(firstword $(FASTSDT_ENTRY)) $(wordlist 2,99,$(FASTSDT_ENTRY)))
  FASTSDT_CFLAGS += $(fastsdt_plugin)
  # LTO compiles in the link: GCC's lto1 takes the plugin, for clang the linker loads the pass.
  ifeq ($(fastsdt_clang),)
    FASTSDT_LDFLAGS += $(fastsdt_plugin)
  else ifneq ($(filter -flto%,$(CFLAGS) $(LDFLAGS)),)
    ifneq ($(filter LLD,$(fastsdt_linker)),) # lld generates the code itself: the pass has to fit lld
      fastsdt_lld := $(shell echo '$(fastsdt_linker)' | sed 's/.*LLD \([0-9]*\).*/\1/')
      FASTSDT_LDFLAGS += -Wl,-mllvm,-load=$(dir $(fastsdt_dir))llvm-$(fastsdt_lld)/fastprobe-pass.so
    else
      FASTSDT_LDFLAGS += -Wl,-plugin,$(fastsdt_dir)/fastprobe-pass.so
    endif
  endif
endif
