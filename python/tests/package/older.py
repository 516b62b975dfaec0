"""Preamble of the processes in tests of older releases."""

REFUSED = """
def refused(call, text):
    try:
        call()
    except BufferError as error:
        assert text in str(error), error
    else:
        raise AssertionError("not refused")
"""
