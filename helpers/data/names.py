"""Which words of a dialogue are names of people.

Sources: the two speakers' display names; Faker's first names for all its locales;
capitals inside a sentence; words that introduce a name ("Mr", "my brother"). A word
that was found once counts everywhere in the dialogue.

Library: Faker (first names, surnames, common English words), spaCy (stop words). Words
of the kit's own card material count as ordinary, too.
"""

import importlib
import json
import pkgutil
import re
from functools import cache

from faker.providers import person
from faker.providers.lorem.en_US import Provider as CommonWords
from faker.providers.person.zh_CN import Provider as Chinese
from spacy.lang.en.stop_words import STOP_WORDS

from helpers.data.material import FILES, material

_TITLE = (
    r"(?:Mr|Mrs|Ms|Miss|Dr|Prof|Professor|Herr|Frau|Uncle|Aunt|Auntie|Sister|St)\.?"
)
_KIN = (
    "friend|boss|brother|sister|cousin|husband|wife|manager|tutor|teacher|colleague"
    "|neighbour|uncle|aunt|flatmate|partner|ex|son|daughter|name is|called|named"
)
_CAPITAL = r"[A-ZÀ-ÖØ-Þ][\w'’-]*[a-zà-ÿ][\w'’-]*"
_CHAIN = re.compile(rf"{_CAPITAL}(?:(?: & | |/){_CAPITAL})*")
_TITLED = re.compile(rf"\b{_TITLE} ({_CAPITAL})")
_INTRODUCED = re.compile(rf"\b(?:{_KIN}) ([a-z]{{3,}})\b")
_NOT_NAMES = frozenset(
    "i i'm i'll i've i'd monday tuesday wednesday thursday friday saturday sunday "
    "january february march april may june july august september october november "
    "december christmas easter english german french chinese portuguese spanish tv ok "
    "phd god lol hello hi hey mr mrs ms dr prof mum mom dad gran granny auntie uncle "
    "aunt sir helper".split()
)
# Parts of a display name that say what somebody does, not who it is.
_ROLES = frozenset(
    "nurse doctor teacher coach mentor advisor helper volunteer volunteer's line desk "
    "service chat companion peer rehab buddy course sister brother cousin aunt uncle "
    "dad mum mother father neighbour sister-in-law brother-in-law old schoolmate hr "
    "garage office ticket travel club book bot share flat pal vet allotment notary's "
    "friend colleague boss night the".split()
)
_ZH_ROLES = (
    "志愿者|辅导员|老同学|邻居|物业|球友|病友群管理员|管理员"
    "|店家|客服|法律援助|倾听员|树洞|前?同事"
)
_ZH_TITLE = "经理|老师|主任|医生|阿姨|叔叔|院长|总监|校长|师傅|教授"
_ZH_BEFORE = (
    "和|让|跟|叫|是|找|给|导师|弟|哥|姐|妹|朋友|同事|室友们?|收件人|老板|儿子|女儿|班长"
    "|爱人|老公|老婆|丈夫|妻子|女友|男友|对象|闺蜜|舅舅|姑姑"
)
_ZH_AFTER = r"(?=[，。！？、,.!?\s的在说打骂上让把也来去给和跟手那昨今分]|$)"


@cache
def first_names() -> frozenset[str]:
    """Faker's first names in Latin script, all locales, lower case."""
    found = set()
    for module in pkgutil.iter_modules(person.__path__):
        if not module.ispkg:
            continue
        provider = importlib.import_module(f"{person.__name__}.{module.name}").Provider
        for field in dir(provider):
            values = getattr(provider, field)
            if field.startswith("first_name") and not callable(values):
                if isinstance(values, (list, tuple, dict, set)):
                    found |= {v.lower() for v in values if isinstance(v, str)}
    return frozenset(name for name in found if name.isascii() or name.isalpha())


@cache
def ordinary_words() -> frozenset[str]:
    """Words that are no names although some name is spelt like them."""
    written = " ".join(json.dumps(material(name)) for name in FILES)
    own = re.findall(r"(?<![\w{])[a-z]{2,}(?![\w}])", written)
    return frozenset(CommonWords.word_list) | STOP_WORDS | _NOT_NAMES | set(own)


def known_names(texts: list[str], speakers: tuple[str, str], language: str) -> set[str]:
    """Names in the dialogue, each as the words that stand for it alone.

    Args:
        texts: the turns. speakers: the two display names.
    """
    if language == "zh":
        return _speakers_zh(speakers) | _others_zh(texts)
    names = {word for name in speakers for word in _parts(name)}
    for text in texts:
        names |= _capitals(text)
        names |= {match.group(1) for match in _TITLED.finditer(text)}
        for match in _INTRODUCED.finditer(text):
            word = match.group(1)
            if word in first_names() and word not in ordinary_words():
                names.add(word)
    words = {word.lower() for text in texts for word in re.findall(r"[\w'-]+", text)}
    full = {word.lower() for name in speakers for word in _parts(name)}
    return names | {w for w in words - ordinary_words() if _nickname(w, full)}


def _nickname(word: str, full: set[str]) -> bool:
    """Whether a word is a short form of a speaker's name: "rob" for Robert."""
    if len(word) < 3:
        return False
    short = any(name.startswith(word) for name in full)
    listed = word in first_names() and any(n[:3] == word[:3] for n in full)
    return short or listed


def _parts(display: str) -> list[str]:
    words = re.findall(r"[^\W\d_][\w'’-]*", display)
    return [w for w in words if w.lower() not in _ROLES and len(w) > 1]


def _capitals(text: str) -> set[str]:
    """Capitalised words inside a sentence, and first names at its start.

    Who begins a message in lower case does not capitalise sentences: there a capital
    at the start of one says as much as inside it.
    """
    found = set()
    careless = text.lstrip(" \"'“(")[:1].islower()
    for match in _CHAIN.finditer(text):
        before = text[: match.start()].rstrip(" \"'“(")
        initial = not before or before[-1] in ".!?:…\n"
        words = re.split(r" & | |/", match.group(0))
        for position, word in enumerate(words):
            plain = re.sub(r"['’]s$", "", word)
            if re.sub(r"s$", "", plain.lower()) in _NOT_NAMES:
                continue
            if initial and position == 0:
                if plain.lower() in ordinary_words():
                    continue
                chained = len(words) > 1
                if not (careless or chained or plain.lower() in first_names()):
                    continue
            found.add(plain)
    return found


def _speakers_zh(speakers) -> set[str]:
    names = set()
    for display in speakers:
        plain = re.sub(rf"{_ZH_ROLES}|\d+", "", display).strip()
        if len(plain) < 2:
            continue
        names.add(plain)
        if len(plain) == 3:
            names.add(plain[1:])
        if plain[0] in "阿小老":
            names |= {plain[1:] * 2, *(plain[1:] + end for end in "哥姐叔姨")}
    return names


def _others_zh(texts: list[str]) -> set[str]:
    surnames = "|".join(sorted(Chinese.last_names, key=len, reverse=True))
    titled = re.compile(rf"(?:{surnames})(?:{_ZH_TITLE})")
    full = re.compile(
        rf"(?:{_ZH_BEFORE})((?:{surnames})[\u4e00-\u9fff]{{1,2}}?){_ZH_AFTER}"
    )
    given = "".join(sorted({c for n in Chinese.first_names for c in n}))
    alone = re.compile(
        rf"(?:^|[，。！？、\s])((?:{surnames})[\u4e00-\u9fff][{given}]){_ZH_AFTER}"
    )
    found = set()
    for text in texts:
        found |= set(titled.findall(text))
        found |= set(full.findall(text)) | set(alone.findall(text))
    return found


def name_pattern(names: set[str], language: str) -> str:
    """One pattern for all names, the longest first; Latin names match in any case."""
    longest_first = sorted(names, key=lambda name: (-len(name), name))
    words = "|".join(re.escape(name) for name in longest_first)
    if language == "zh":
        return words
    joined = rf"(?:{_TITLE} +)?(?:{words})(?:(?:['’]s)?(?: & | |/)(?:{words}))*"
    return rf"(?i)(?<![\w@.]){joined}(?!\w)(?!@)"
