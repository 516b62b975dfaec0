"""Objects with `__dlpack__`: how they are asked, and what their answers become."""

import dlbridge_testing as ext
import pytest
from made import CPU, CUDA, IS_COPIED, READ_ONLY, Made, OldProducer, Producer, name_of, producer
from support import refused

LOOKS = [ext.describe, ext.describe_out, ext.describe_owned]
VERSION = {"max_version": (1, 3)}


def test_producer_is_called_with_max_version():
    for look in LOOKS:
        x, made = producer()
        assert look(x)["ptr"] == made.data
        # Nothing else: no stream for host memory, and no wish where there is none.
        assert x.asked == [VERSION] and made.deleted == 1


def test_both_capsule_kinds_are_accepted():
    for versioned in (True, False):
        x, made = producer(versioned=versioned)
        assert ext.read_f32(x) == [0, 1, 2, 3, 4, 5] and made.deleted == 1
        x, made = producer(versioned=versioned)
        tensor = ext.identity(x)
        assert tensor.data_ptr == made.data and made.deleted == 0
        del tensor
        assert made.deleted == 1


def test_older_producer_is_called_without_keywords():
    for look in LOOKS:
        made = Made(versioned=False)
        x = OldProducer(made.capsule)
        assert look(x)["ptr"] == made.data
        assert x.asked == [{"stream": None}] and made.deleted == 1


def test_type_error_of_the_producer_is_passed_on():
    # It looks like that of an older producer, who is then asked again, and asked only again.
    def answer(**keywords):
        raise TypeError("not today")

    for look in LOOKS:
        x = Producer(answer)
        with refused(TypeError, "not today") as error:
            look(x)
        assert x.asked == [VERSION, {}]
        # The first attempt's error is told, too.
        assert (
            isinstance(error.value.__cause__, TypeError)
            and error.value.__cause__ is not error.value
        )


def test_second_error_of_older_producer_has_the_first_as_cause():
    def answer():
        raise OverflowError("too old")

    x = OldProducer(answer)
    with refused(OverflowError, "too old") as error:
        ext.identity(x)
    assert "max_version" in str(error.value.__cause__)


@pytest.mark.parametrize(
    "kind", [BufferError, ValueError, RuntimeError, KeyError, KeyboardInterrupt, SystemExit]
)
def test_producer_error_is_passed_on(kind):
    mine = kind("mine")

    def answer(**keywords):
        raise mine

    for use in [*LOOKS, ext.import_, lambda x: ext.add(x, x, x)]:
        x = Producer(answer)
        with refused(kind, "mine") as error:
            use(x)
        assert error.value is mine and x.asked == [VERSION]


@pytest.mark.parametrize("answer", [None, 3, "capsule", [], Made, object()])
def test_result_that_is_not_a_capsule_is_refused(answer):
    for look in LOOKS:
        with refused(
            TypeError, "expected a capsule of a DLPack tensor, got", type(answer).__name__
        ):
            look(Producer(lambda **keywords: answer))


def test_consumed_capsule_is_refused():
    made = Made()
    capsule = made.capsule()
    x = Producer(lambda **keywords: capsule)
    # Borrowing leaves it as it is.
    assert ext.read_f32(x) == ext.read_f32(x) == [0, 1, 2, 3, 4, 5]
    tensor = ext.identity(x)
    for look in LOOKS:
        with refused(BufferError, "already taken"):
            look(x)
    assert name_of(capsule) == "used_dltensor_versioned" and ext.read_f32(tensor) == [
        0,
        1,
        2,
        3,
        4,
        5,
    ]


def test_read_only_capsule_refuses_writes():
    x, _ = producer(flags=READ_ONLY)
    assert ext.describe(x)["readonly"]
    made = Made(flags=READ_ONLY)
    with refused(BufferError, "read-only"):
        ext.describe_out(Producer(lambda **keywords: made.capsule()))
    assert made.deleted == 1


def test_capsule_is_kept_for_the_call():
    made = Made()
    x = Producer(lambda **keywords: made.capsule())
    assert ext.reading(x, lambda: made.deleted) == 0 and made.deleted == 1
    made = Made()
    assert ext.writing(x, lambda: made.deleted) == 0 and made.deleted == 1
    made = Made()
    assert ext.call_while_detached(x, lambda: None) == 15 and made.deleted == 1


def test_instance_attribute_is_not_a_method_of_the_type():
    class Plain:
        pass

    x = Plain()
    x.__dlpack__ = lambda **keywords: Made().capsule()
    x.__dlpack_device__ = lambda: (CPU, 0)
    for use in (*LOOKS, ext.import_, ext.number_f32):
        with refused(
            TypeError, "expected a tensor, got", "Plain, which has neither __dlpack__ nor a buffer"
        ):
            use(x)


@pytest.mark.parametrize(
    "x", [None, 3, 1.5, "text", [1.0], (1.0,), {}, object(), int, Producer, Producer.__dlpack__]
)
def test_object_that_is_not_a_tensor_is_refused(x):
    for use in (*LOOKS, ext.import_, ext.identity):
        with refused(
            TypeError,
            "expected a tensor, got",
            f"{type(x).__name__}, which has neither __dlpack__ nor a buffer",
        ):
            use(x)


class TestWishes:
    @pytest.mark.parametrize("copy", [True, False])
    def test_requested_copy_and_device_reach_the_producer(self, copy):
        x, made = producer(flags=IS_COPIED if copy else 0)
        tensor = ext.import_(x, copy=copy)
        assert x.asked == [{**VERSION, "copy": copy}] and tensor.data_ptr == made.data

    def test_missing_copy_is_refused(self):
        for versioned in (True, False):
            x, made = producer(versioned=versioned)
            tensor = ext.import_(x, copy=True)
            assert tensor.data_ptr != made.data and made.deleted == 1
            assert ext.describe_owned(tensor)["copied"] and ext.read_f32(tensor) == [
                0,
                1,
                2,
                3,
                4,
                5,
            ]

    def test_unrequested_copy_is_refused(self):
        x, made = producer(flags=IS_COPIED)
        with refused(
            BufferError, "the producer copied the tensor, though copy=False was requested"
        ):
            ext.import_(x, copy=False)
        assert made.deleted == 1

    def test_requested_copy_of_read_only_memory_is_writable(self):
        x, _ = producer(flags=READ_ONLY)
        tensor = ext.import_(x, copy=True)
        assert not tensor.readonly
        ext.write_f32(tensor, 1)
        assert ext.read_f32(tensor) == [1] * 6

    def test_copy_request_to_older_producer_is_honoured(self):
        made = Made(versioned=False)
        x = OldProducer(made.capsule)
        tensor = ext.import_(x, copy=True)
        assert tensor.data_ptr != made.data and made.deleted == 1
        made = Made(versioned=False)
        tensor = ext.import_(OldProducer(made.capsule), copy=False)
        assert tensor.data_ptr == made.data

    def test_requested_device_reaches_the_producer(self):
        x, made = producer()
        tensor = ext.import_(x, device="cpu")
        assert x.asked == [{**VERSION, "dl_device": (1, 0)}] and tensor.data_ptr == made.data
        x, made = producer(device=(CUDA, 1))
        tensor = ext.import_(x, device="cuda:1", copy=False)
        assert x.asked == [{**VERSION, "copy": False, "dl_device": (2, 1)}]
        assert str(tensor.device) == "cuda:1"

    def test_tensor_on_another_device_than_requested_is_refused(self):
        x, made = producer(device=(CUDA, 0))
        with refused(BufferError, "expected memory on cpu, got the producer's on cuda:0"):
            ext.import_(x, device="cpu")
        assert made.deleted == 1

    def test_device_request_to_older_producer_is_checked(self):
        made = Made(versioned=False)
        assert ext.import_(OldProducer(made.capsule), device="cpu").data_ptr == made.data
        made = Made(versioned=False, device=(CUDA, 0))
        x = OldProducer(made.capsule, (CUDA, 0))
        with refused(
            BufferError, "on another device, and doesn't know the keyword dl_device"
        ) as error:
            ext.import_(x, device="cpu")
        assert x.asked == [] and isinstance(error.value.__cause__, TypeError)

    def test_producer_that_refuses_its_own_device_is_asked_without(self):
        class Refusing(Producer):
            def __dlpack__(self, **keywords):
                if "dl_device" in keywords:
                    self.asked.append(keywords)
                    raise BufferError("none is chosen")
                return super().__dlpack__(**keywords)

        def interrupt():
            raise KeyboardInterrupt

        made = Made()
        x = Refusing(lambda **_: made.capsule())
        assert ext.import_(x, device="cpu", copy=False).data_ptr == made.data
        wish = {**VERSION, "copy": False}
        assert x.asked == [{**wish, "dl_device": (1, 0)}, wish]
        # Elsewhere, and where it doesn't say, it isn't asked again.
        for said, expected in (
            (lambda: (CUDA, 0), BufferError),
            (lambda: "here", BufferError),
            (lambda: 1 / 0, BufferError),
            (interrupt, KeyboardInterrupt),
        ):
            x = Refusing(lambda **_: Made().capsule())
            type(x).__dlpack_device__ = lambda self, said=said: said()
            with pytest.raises(expected):
                ext.import_(x, device="cpu")
            assert [*map(sorted, x.asked)] == [["dl_device", "max_version"]]

    def test_device_and_copy_requests_of_a_capsule_are_honoured(self):
        made = Made()
        capsule = made.capsule()
        with refused(BufferError, "expected memory on cuda:0, got the producer's on cpu"):
            ext.import_(capsule, device="cuda:0")
        assert name_of(capsule) == "dltensor_versioned"
        copy = ext.import_(capsule, copy=True)
        assert copy.data_ptr != made.data and made.deleted == 1
        made = Made(flags=IS_COPIED)
        capsule = made.capsule()
        with refused(BufferError, "though copy=False was requested"):
            ext.import_(capsule, copy=False)
        assert made.deleted == 1

    def test_copy_of_gpu_memory_without_driver_is_refused(self):
        x, made = producer(device=(CUDA, 0))
        with refused(BufferError, "the CPU can't reach memory on cuda:0"):
            ext.import_(x, copy=True)
        assert made.deleted == 1
