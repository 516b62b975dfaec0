"""Times `tf.raw_ops.AddV2` on six floats: the minimum of 200 rounds."""

import os
import timeit

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf

x = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])


def add():
    return tf.raw_ops.AddV2(x=x, y=x)


if __name__ == "__main__":
    rounds = timeit.repeat(add, number=1000, repeat=200)
    # A round is 1000 calls, so that its seconds are milliseconds of a call.
    fastest, median = min(rounds) * 1e6, sorted(rounds)[100] * 1e6
    print(f"tf.raw_ops.AddV2, 6 floats: fastest {fastest:.0f} ns, median {median:.0f} ns")
