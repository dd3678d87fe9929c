"""The words of a text, as metrics compare them.

`<unk>` stands for a word nobody knows, so it never counts as a match, not even with another `<unk>`: each
side writes it as a mark that the other side cannot have.
"""

import re

from trlap.data.tokenizer import UNK

# private-use code points: in no corpus
ORIGINAL_UNK, CANDIDATE_UNK = "\ue000", "\ue001"


def words(text: str, unk: str) -> list[str]:
    """The words of a text, `<unk>` replaced by `unk`.

    GloVe has words with a no-break space in them, at which the libraries would split.
    """
    parts = re.sub(r"[^\S ]", "_", text).split()
    return [unk if word == UNK else word for word in parts]
