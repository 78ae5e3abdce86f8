"""A folder of documents: where passages are cut, what they are called, what is refused in one line."""

from __future__ import annotations

import os
import re
import warnings
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from written_pdf import pdf

from llm_as_judge.data import documents
from llm_as_judge.data.documents import PASSAGE_CHARACTERS, document_passages, file_passages
from llm_as_judge.errors import DataError


def of(tmp_path: Path, name: str, content: str | bytes) -> list[str]:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return file_passages(path)


def test_markdown_is_cut_at_headings_which_are_the_titles(tmp_path: Path) -> None:
    text = "# Shop\n\n## Returns: how\nWithin 14 days.\n\nOpened goods, too.\n\nHours\n-----\n9 to 5.\n"
    assert of(tmp_path, "house_rules.md", text) == [
        "Returns how (house rules): Shop\nWithin 14 days.\nOpened goods, too.",
        "Hours (house rules): 9 to 5.",
    ]


def test_a_hash_within_a_fence_is_no_heading_and_an_empty_line_there_is_left_out(
    tmp_path: Path,
) -> None:
    text = "# Set up\n```\n# install\n\nmake\n```\n"
    assert of(tmp_path, "a.md", text) == ["Set up (a): ```\n# install\nmake\n```"]


def test_a_line_alone_heads_plain_text_and_no_line_is_lost(tmp_path: Path) -> None:
    text = (
        "\ufeff2.1 Travel\r\n\r\nTrains first.\r\n\r\nwe close early\r\n\r\nClosed on Sundays\r\n"
    )
    assert of(tmp_path, "staff.txt", text) == [
        "2.1 Travel (staff): Trains first.\nwe close early",
        "staff: Closed on Sundays",
    ]


def test_pages_of_a_pdf_are_read_in_order(tmp_path: Path) -> None:
    found = of(tmp_path, "handbook.pdf", pdf(["Badges are", "blue."], [], ["Keys are red."]))
    assert found == ["handbook: Badges are\nblue.\nKeys are red."]


@pytest.mark.parametrize("name", ["\udcff\x1b\n.txt", "\udcff\x1b\n.pdf"])
def test_a_name_that_no_prompt_can_hold_is_made_into_one_that_it_can(
    tmp_path: Path, name: str
) -> None:
    content = pdf(["Badges are blue."]) if name.endswith("pdf") else "Badges are blue."
    assert of(tmp_path, name, content) == ["?: Badges are blue."]


@pytest.mark.parametrize(
    ("line", "passages"),
    [
        ("ab" * 2_000_000, 5_000),
        ("# a" + " " * 50_000 + "b ##", 63),
        ("# " + "# " * 2_000 + "a", 5),
        ("#" * 6 + " " * 100_000, 0),
    ],
    ids=["one word", "blanks in a heading", "hashes in a heading", "no heading"],
)
def test_a_line_of_any_length_is_read_once(tmp_path: Path, line: str, passages: int) -> None:
    found = of(tmp_path, "a.md", f"{line}\n\nEnd.")
    assert found[-1].endswith("End.")
    assert len(found) <= passages + 1


@given(st.text(max_size=4000), st.sampled_from(["a.md", "a.txt"]))
def test_each_word_is_in_a_passage_and_no_passage_is_long_or_has_an_empty_line(
    tmp_path_factory: pytest.TempPathFactory, text: str, name: str
) -> None:
    folder = tmp_path_factory.mktemp("any", numbered=True)
    try:
        found = of(folder, name, text.encode("utf-8", "replace"))
    except DataError as error:
        assert "no text in it" in str(error)  # noqa: PT017
        return
    assert all(len(one) < PASSAGE_CHARACTERS + 110 for one in found)
    assert not any("\n\n" in one for one in found)
    if name == "a.txt" and "-" not in text and "=" not in text:
        words = "".join(found)
        assert all(part in words for part in re.findall(r"[a-z]+", text) if len(part) < 9)


def test_a_long_paragraph_is_cut_behind_a_sentence(tmp_path: Path) -> None:
    sentences = " ".join(f"Rule {n} holds for all of us." for n in range(90))
    found = of(tmp_path, "a.txt", sentences)
    assert len(found) > 2
    assert all(one.endswith("us.") for one in found)
    assert " ".join(one.removeprefix("a: ") for one in found) == sentences


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.txt", b"", "no text in it; remove it from the folder"),
        ("a.md", b" \n\n\x00\t", "no text in it; remove it from the folder"),
        ("a.txt", b"caf\xe9", "not UTF-8 (byte 0xe9 at 3); save it as UTF-8"),
        ("a.pdf", pdf([], []), "no text in its 2 pages; if they are scanned"),
        ("a.pdf", pdf(["x"])[:200], "cannot be read as PDF ("),
        ("a.pdf", b"no PDF at all", "cannot be read as PDF ("),
        ("a.pdf", b"", "cannot be read as PDF ("),
    ],
    ids=["empty", "blank", "latin-1", "scanned", "cut off", "no PDF", "empty PDF"],
)
def test_a_file_that_cannot_be_read_is_one_line(
    tmp_path: Path, name: str, content: bytes, said: str
) -> None:
    with pytest.raises(DataError) as caught:
        of(tmp_path, name, content)
    line = str(caught.value)
    assert line.startswith(f"{tmp_path / name}: {said}")
    assert "\n" not in line


def test_a_locked_pdf_and_a_file_too_large_say_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pypdf import PdfReader, PdfWriter

    (tmp_path / "open.pdf").write_bytes(pdf(["secret"]))
    locked = PdfWriter(clone_from=PdfReader(tmp_path / "open.pdf"))
    locked.encrypt("key", algorithm="RC4-128")
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # of an algorithm that is weak, and needs no further package
        locked.write(tmp_path / "locked.pdf")
    with pytest.raises(DataError, match=r"locked.pdf: needs a password; save it without one"):
        file_passages(tmp_path / "locked.pdf")
    monkeypatch.setattr(documents, "MAX_FILE_BYTES", 2**20)
    with pytest.raises(DataError, match=r"a.txt: 2 MB, at most 1 MB are read; split it"):
        of(tmp_path, "a.txt", "a" * 2**21)


def test_a_folder_is_read_in_order_without_hidden_files_and_again_after_a_change(
    tmp_path: Path,
) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / ".git").mkdir()
    of(tmp_path, ".git/a.txt", "hidden")
    of(tmp_path, "b.txt", "Second.")
    of(tmp_path, "deep/C.TXT", "Third.")
    of(tmp_path, "a.md", "First.")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    assert document_passages(tmp_path) == ("a: First.", "b: Second.", "C: Third.")
    of(tmp_path, "b.txt", "Changed.")
    assert document_passages(tmp_path)[1] == "b: Changed."


def test_a_folder_without_documents_says_what_it_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(DataError, match=r"^data.documents: .*nowhere: no such folder"):
        document_passages(tmp_path / "nowhere")
    with pytest.raises(DataError, match=r"found nothing, wanted txt, md or pdf files"):
        document_passages(tmp_path)
    for name in ("a.docx", "b.docx", "LICENSE"):
        (tmp_path / name).touch()
    with pytest.raises(DataError, match=r"found 2 \.docx, 1 LICENSE, wanted"):
        document_passages(tmp_path)
    of(tmp_path, "a.txt", "\n\n".join("x" * 700 for _ in range(3)))
    monkeypatch.setattr(documents, "MAX_PASSAGES", 2)
    with pytest.raises(DataError, match=r"3 passages, at most 2 are read"):
        document_passages(tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_without_permission_is_one_line(tmp_path: Path) -> None:
    of(tmp_path, "a.txt", "x")
    (tmp_path / "a.txt").chmod(0)
    with pytest.raises(DataError, match=r"a.txt: cannot be read: Permission denied"):
        file_passages(tmp_path / "a.txt")
