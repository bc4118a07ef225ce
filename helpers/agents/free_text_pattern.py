"""How the cues of the free-text reader are written: word groups and one compiler.

A cue is a regular expression of whole words on a lower-case sentence whose contractions
are written out (`free_text_words.plain`). Capitals stand for the groups of `GROUPS`.
"""

import re

YOU = r"\byou(?:r|rs|rself)?\b"
_PERSON = (
    r"manager|boss|mother|mum|mom|father|dad|parents?|sisters?|brothers?|friends?|wife"
    r"|colleagues?|co-?workers?|supervisor|partner|ex|husband|girlfriend|boyfriend|son"
    r"|daughter|aunt|uncle|cousin|teacher|professor|prof|roommate|flatmate|neighbours?"
    r"|family|team|group|doctor|client|coach|fellow|man|woman|guys?|girls?|boys?|lads?"
    r"|lady|folks|others|classmates?|children|kids|people"
)
# He, she, they, or a person named by a noun, as the one who acts.
THEY = (
    rf"(?:he|she|they|(?:your|the|this|that|those|these|some) (?:\w+ )?"
    rf"(?:{_PERSON})(?:'s| is)?)"
)
# What somebody did or does again and again: a verb in the past, or "keeps doing".
PAST = (
    r"\b(?!need|feed|indeed|speed|exceed|red\b|bed\b)\w{2,}ed\b|\b(?:was|were|had|did"
    r"|got|gave|took|told|said|went|left|made|kept|let|put|found|lost|came|threw|broke"
    r"|chose|hid|held|spoke|stood|sent|spent|thought|knew|saw|heard|met|paid|sold|stole"
    r"|stopped|wrote|ran|hurt|fell|felt|cut|shut|hung|swore|tore|won|fought|brought"
    r"|bought|forgot|drove|grew|began|fired)\b|\bkeeps? \w+ing\b"
)
GROUPS = {
    "THEY": THEY,
    "THEIR": r"(?:his|her|their)",
    "VERY": r"(?:(?:so|such|very|really|quite|truly|just|all|too|simply|literally"
    r"|still|always|rather|pretty|way|perfectly|completely|totally|entirely|absolutely"
    r"|only|also|a|an|the|bit|little|real|kind|of|even|well|more|than|most) )*",
    "SOFT": r"(?:(?:maybe|perhaps|just|also|really|simply|always|probably|still"
    r"|first) )*",
    "MIND": r"(?:because|scared|afraid|fear\w*|frighten\w*|worr\w+|want\w*|needs?"
    r"|needed|feels?|felt|feeling|insecur\w+|jealous\w*|envious|stress\w*|tired|hurts?"
    r"|hurting|meant|means?|tr(?:y|ies|ied|ying)|thought|thinks?|think|believ\w+"
    r"|cares?|cared|loves?|loved|proud|ashamed|overwhelm\w+|pressure|protect\w*"
    r"|hid(?:e|es|ing)|avoid\w*|cover\w*|threatened|lonely|upset|angry|struggl\w+|busy"
    r"|shy|unsure|guilty|awkward|hop(?:es|ed|ing)|lost|grew up|raised|used to"
    r"|never learn\w*|known? how|know\w* what|expect\w*|embarrassed|confused|notic\w+"
    r"|realis\w+|realiz\w+|own)",
    "GUESS": r"(?:maybe|perhaps|probably|possibly|presumably|likely|could be|may be"
    r"|might be|i (?:would )?(?:guess|suppose|expect|imagine|bet|think|suspect|reckon"
    r"|assume|wonder if|wonder whether)|possible (?:that)?|chances are)",
    "DO": r"(?:try|go(?! on\b| ahead| and play)|get(?! over| a grip| real| used)|drink"
    r"|eat|sleep|take(?! your time| all the| as much| care| heart| it like)"
    r"|ask(?! yourself)|call|phone|walk|ring|write|text|talk (?:to|with)(?! me)"
    r"|speak (?:to|with)(?! me)|see|join|rest|plan|book|send|give (?:yourself|him|her"
    r"|them)|put|have an?(?! look at your| think about)|make an?|find|start|set"
    r"|sit down|lie|breathe|pick|leave|visit|invite|jot|list|switch|turn"
    r"|treat yourself|meet|run|read|open|contact|reach out|look for|let (?:him|her"
    r"|them) know|draw|show (?:him|her|them)|tell (?:him|her|them|your)|consider|apply"
    r"|practise|cook|listen to music|step|schedule|explain|do something)",
    "FEEL": r"(?:feel|cry|be|grieve|hurt|mourn|need|say no|want|weep|rest)",
}


def cues(lines: str) -> re.Pattern[str]:
    """One pattern of whole words out of lines of cues.

    Args:
        lines: cues parted by bars or line ends; a line that starts with four spaces
            goes on with the line above.
    """
    for group, words in GROUPS.items():
        lines = re.sub(rf"\b{group}\b", lambda _, words=words: words, lines)
    parts = lines.replace("\n    ", "").strip("\n").split("\n")
    return re.compile(rf"\b(?:{'|'.join(parts)})(?!\w)")
