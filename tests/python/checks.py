"""What the checks of this folder share."""
import sys


def same(what, got, wanted):
    if got != wanted:
        sys.exit(f"FAIL: {what}\n--- expected\n{wanted}\n--- got\n{got}")


def refused(what, kind, text, call):
    try:
        call()
    except kind as error:
        if text not in str(error):
            sys.exit(f"FAIL: {what}: {error}")
        return error
    sys.exit(f"FAIL: {what} is no error")
