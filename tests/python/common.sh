# Sourced by the scripts of this folder after tests/common.sh: installs the package, and leaves the interpreter that has it in $python.
need gcc cmake strip
[ -e "$FASTSDT_BUILD/lib/libfastsdt-trace.so.0" ] || skip "the tools are not built"
# The system's, where another python3 comes first on the PATH and has no modules of packages.
for python in python3 /usr/bin/python3 ""; do
    [ -n "$python" ] || skip "no python3 has pip, setuptools and wheel (python3-pip python3-setuptools python3-wheel)"
    ! "$python" -c 'import setuptools, wheel, pip' 2>/dev/null || break
done
rm -rf source venv
mkdir source
cp -r "$FASTSDT_SOURCE/python" "$FASTSDT_SOURCE/include" "$FASTSDT_SOURCE/CMakeLists.txt" source
rm -rf source/python/build # of somebody who installed it from there
"$python" -m venv --without-pip --system-site-packages venv
python=$PWD/venv/bin/python
"$python" -m pip install --no-index --no-build-isolation ./source/python >pip.log 2>&1 || fail "pip: $(cat pip.log)"
export PYTHONWARNINGS=error
