"""Tests of the tokenizer."""

import cookbook
import pytest

PIECES = ["a", "b", "ab", "é", " "]


def test_longest_pieces_are_found_and_rows_padded(framework):
    encoded = cookbook.Tokenizer(PIECES).encode(["abé", "a", ""], framework.name)
    assert framework.array(encoded["input_ids"]).tolist() == [[3, 4], [1, 0], [0, 0]]
    assert framework.array(encoded["attention_mask"]).tolist() == [[1, 1], [1, 0], [0, 0]]
    assert str(encoded["input_ids"].dtype).endswith("int32")


def test_no_texts_are_an_empty_matrix(framework):
    encoded = cookbook.Tokenizer(PIECES).encode([], framework.name)
    assert framework.array(encoded["input_ids"]).shape == (0, 0)


def test_text_without_a_piece_is_an_error():
    with pytest.raises(ValueError, match='the vocabulary has no piece for "xab"'):
        cookbook.Tokenizer(PIECES).encode(["ab", "abxab"], "numpy")
