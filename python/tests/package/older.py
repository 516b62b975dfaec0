"""What tests of older releases start their processes with."""

REFUSED = """
def refused(call, text):
    try:
        call()
    except BufferError as error:
        assert text in str(error), error
    else:
        raise AssertionError("not refused")
"""
