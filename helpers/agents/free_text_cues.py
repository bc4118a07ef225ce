"""The cue lists of the free-text reader: which words point to which act.

Here stand the acts that ask, feel with, tell of oneself, praise or free from fault; the
others are in `free_text_views`, feelings and events in `free_text_words`. The order
within an act does not matter. Built on the dev styles of `data/labelled/acts.csv`, on
general English, and on sentences made up for trial; never on a held-out style.
"""

from helpers.agents import free_text_views as views
from helpers.agents.free_text_pattern import cues

# Only in a sentence with a question mark, but for QUESTION_ANYWAY.
QUESTION = cues(r"""
(?:what|how|when|who|where|which|why)(?: \w+){0,3} (?:is|are|was|were|did|do|does|has
    |have|had|would|will|can|could|happened|made|makes|came|went|brought|kind|got|helps)
what (?:about it|else|then|next|now)|then what
how (?:come|long|often|bad|much|many|so)
(?:can|could|would|will|may|might|do) (?:you|i) (?:\w+ ){0,4}(?:tell|say|talk|share
    |describe|explain|walk me|take me|help me|ask|hear|know|go on|go over|show me)
(?:want|like|care) to (?:\w+ )?(?:tell|say|talk|share|describe|explain)
""")

QUESTION_ANYWAY = cues(r"""
(?<!you )tell me(?! to| how to)
(?:like|love|want|glad|happy|curious) to (?:hear|know|understand)(?: more| about| what
    | how| why)
help me (?:to )?understand
say (?:a bit |a little |some )?more
(?:love|like|want|glad|curious) to (?:hear|know) (?:the rest|it all|everything)
(?:please )?go on(?: then)?$|i am (?:curious|all curiosity)
i (?:wonder|want to know|would like to know) (?:what|how|where|when) (?!you (?:might|may
    |could) have)(?:\w+ ){0,8}(?:happened|felt|feel|like|went|said|did|was|is|came)
""")

# Asks for nothing, although it has the form of a question.
NO_QUESTION = cues(r"""
(?:how|what) about (?!it)
why (?:do|would|will) (?:not you|you not)|why not
who would not|how could you not|who could blame
who cares|so what \?|what is the (?:point|big deal|fuss|problem)
how could you have|who could have
what if you
""")

VALIDATE = cues(r"""
mak(?:es|e|ing) (?:\w+ ){0,3}sense(?! of)
understandabl[ey]
i (?:\w+ ){0,2}(?:understand|see|get|know) why(?! (?:he|she|they)\b)
(?:do|could|would|can) not blame you|who could blame you
(?:anyone|anybody|everyone|everybody|most (?:people|of us)|many people|many
    |lots of (?:people|us)|all of us|any (?:\w+ ){1,3})(?: \w+){0,4} (?:would|might
    |could|will)
(?:no|small|little) wonder|no surprise|not (?:at all )?surpris\w+
(?<!not )(?<!not a )(?:natural|normal|fair|valid|reasonable|human|okay|ok|fine|alright
    |all right|justified|legitimate|common|healthy) (?:thing )?(?:to|that you|way to
    |response|reaction|feelings?|emotions?|enough)
(?:is|are|was|were) (?:VERY)(?:natural|normal|valid|justified|legitimate|legit
    |only human)
of course (?:you|it|that|this|they hurt)|naturally you
i (?:would|will|might) (?:\w+ ){0,2}(?:be|feel|have felt|have been|have done
    |react)\b.*(?:too|as well|the same|exactly|just as|like (?:that|you))
so would i|if (?:it|that|this) (?:were|was|had been|happened to) m[ey]
in your (?:place|shoes|position|situation|skin)
(?:right|reason|cause|permission|allowed|entitled|free) to (?:\w+ )?FEEL
you may (?:FEEL) (?:angry|sad|as|that|upset|all)
rightly so|rightfully so|with good reason|who would not|how could you not|how else
you (?:are|were) (?:\w+ )?right to
not (?!be )(?:\w+ ){0,5}(?:silly|weak|stupid|crazy|childish|foolish|strange|odd|selfish
    |weird|unreasonable|overreacting|dramatic|too sensitive|sign of weakness|mad to)
nothing (?:silly|wrong|strange|shameful|weak|odd|childish|weird) (?:in|about|with|that)
your (?:feelings?|anger|tears|reaction|sadness|hurt|pain|grief|fear
    |disappointment) (?:is|are|makes?|matters?|counts?|deserves?)
(?:would|will) (?:\w+ )?(?:hurt|upset|sting|break|shake|bother|get to|wear|crush|rattle
    |frighten|be (?:hard|tough|difficult)(?: \w+){0,2} (?:for|on)) (?:\w+ )?(?:anyone
    |anybody|everyone|me|most|any)
what (?:tears|grief|friends) (?:are|is) for
(?:deserved?) (?:so much |far |much )?better
bound to (?:hurt|upset|sting|be)
(?:that|this|it|which) (?:would|will|could|must) (?:\w+ ){1,4}(?:anyone|anybody|everyone
    |most of us|any of us|many)
(?:good|every|plenty of) (?:grounds?|cause|reasons?)(?: to| for)
(?:is|are|so|very|deeply) human|only human
i (?:can |do |could )?(?:\w+ )?(?:see|imagine|understand|appreciate|hear) (?:why
    |how much) (?:this|it|that|you)
i do not blame you|i get it
that (?:is|was) (?:so |really |very |deeply )?(?:unfair|unjust|rough|awful|horrible
    |terrible|a lot)
(?:anyone|anybody|everyone) in your|does not make you
(?:feelings?|tears|anger|grief) (?:are|is) (?:\w+ )?(?:welcome|allowed|normal|natural
    |part of|information)
there is (?:a|every|good|always a) (?:\w+ )?reason (?:why|that|for|it|you)|has its place
(?:odd|strange|weird|surprising|unnatural|a wonder) if you
you (?:have been|were) (?:through|put through) (?:so much|a lot|enough|too much)
after (?:all|everything) (?:that|you|this)|it hurts because|you are only human
(?:feeling|being|crying|getting) (?:\w+ ){1,5}(?:is|are) (?:\w+ )?(?:okay|ok|fine
    |natural|normal|human|right|healthy|part of)
(?:strange|odd|hard|impossible|unnatural|inhuman) not to
(?<!happens )(?<!happen )for a reason$
(?:nobody|no one|who|few) (?:could|would|can) (?:\w+ ){0,2}(?:stay|be|remain|keep|bear
    |take|stand|stomach)(?! with)
no shame in
it is (?:only |quite |just |all )?(?:right|fitting|just|proper|good) (?:that|to (?:mourn
    |cry|grieve|feel|be))
(?:heart|person|man|woman|soul|someone|mother|father|friend) (?:that|who) (?:loves?
    |cares?|trusts?) (?:\w+ )*(?:hurts?|suffers?|grieves?|bleeds?)
i (?:would )?(?:feel|felt) (?:it|the same|that|so) (?:too|as well|also)
as (?:anyone|anybody|any|everyone|everybody|most|one) would
(?:shows|means|because) (?:that |how much |how deeply )?you (?:loved?|cared?|trusted)
not be human if|made of stone|small wonder|as well you (?:might|may)
""")

PRESENCE = cues(r"""
i (?:am|will be) SOFT(?:right |all )?(?:here|around|with you|near|by your side
    |at your side|beside you|on your side|next to you|there|close|not leaving
    |not going (?:anywhere|away))
i (?:am|will|can|could|would like|want|would be (?:glad|happy)|am (?:glad|happy
    |ready)) SOFT(?:going |happy |glad )?(?:to )?SOFT(?:listen(?:ing)?|stay|sit
    |keep you company|hold (?:you|your)|hear you out|be (?:here|there|with you)|wait
    |stand by you|walk with you|pick up)
i will not (?:leave|go away|judge|let you)
i (?:listen|have time)
here (?:to listen|for you|with you|if you|whenever|when you|beside you)
there for you(?! when)
all ears|i (?:have )?got you|(?:got|have) your back
my (?:door|phone|line|ears?|shoulder|kitchen|time) (?:is|are)
not (?:\w+ )?(?:alone|on your own|by yourself) (?:in|with)|not alone|never alone
not (?:have to|need to) (?:\w+ ){1,6}(?:alone|by yourself|on your own)
(?:through|face|carry|do|manage) (?:this|it) together|side by side|in this together
(?:take|taking|have|all|got) (?:\w+ )?(?:your|the) time|no (?:rush|hurry)
not in (?:a|any) hurry|at your own pace
as (?:long|much|often|many|slowly)(?: \w+)? as you (?:need|like|want|wish|please|care)
whenever you (?:want|need|like|wish|are ready|feel)|any ?time|at any hour|day or night
(?:call|text|ring|wake|write) me
(?:talk|speak|lean|cry|turn|count|come|rely|reach out) (?:to|on|upon) me
(?:just|to|please|can|go ahead and) (?:vent|let it (?:all )?out)|off your chest
pour (?:it|your)|pour out
(?:without|no) judg\w+|you can (?:say|tell me) any(?:thing)?
i (?:will|would) (?:not )?(?:go|be|stay|come|keep|stick|hold|leave)(?: \w+){0,3} (?:with
    |beside|by|near|anywhere|over|for) ?(?:you)?
(?:we|you and i) (?:can|could|will) (?:\w+ ){0,3}(?:sit|talk|stay|go through|get through
    |be quiet|work through)(?: \w+){0,3}
my (?:full |whole |undivided )?attention|phone call away|a call away|by your side
at your side|i will not judge|i (?:am|will be) only a
(?:come|sit) (?:over|in|down|here|closer|and|with)\b.*(?:me|i|tell|talk|us)
i have (?:all|plenty|the|as much|nowhere|nothing|got) (?:\w+ )*(?:time|day|night|evening
    |else|hour|ears)
you (?:can|may|are welcome to|are free to) (?:\w+ ){0,4}(?:tell|say|share|pour|cry|lean
    |talk|come|stay|speak)
you have (?:me|my)|i care about you|keep you company|hold your hand
with you (?:in|through) (?:this|it)|i am (?:not|never) (?:leaving|far)|lend you
you can be\b.* with me|with me (?:here )?$
i want to (?:hear|be there|listen|know how you)|let me (?:hold|sit|stay|be|listen|carry)
safe with me|either way
let us (?:\w+ ){0,3}(?:get|go|sit|talk|face|bear|stay)\b.* (?:together|side by side
    |a while|through)
(?:let it|may) all (?:come|out)|in no haste|(?:we|us) (?:have|got) (?:all|plenty|time)
i (?:am|will be) (?:\w+ )?(?:at|by|on|beside|near|close to) (?:your|you)
i (?:will|would) (?:gladly |always |happily |be there )?(?:listen|wait|hear|hold|come
    |carry|bear|walk|sit|stay)
(?:if|when|should) you (?:ever )?(?:want|need|wish) (?:to talk|me|a|someone|somebody
    |company)
at your (?:disposal|service)|trouble me|(?:come|turn) to me|never fear
""")

DISCLOSE = cues(r"""
happened to me|to me (?:too|as well|once)|me too|same here|(?:lol )?same$
^(?:lol |oh |yeah |omg )*same
did (?:\w+ ){1,3}to me
i (?:have |had )?SOFT(?:been|gone|went|lived|come) (?:there|through)|been there
i know (?:how|what) (?:it|that|this) (?:is|feels|was|can be)
i know (?:that|the|this) (?:feeling|place|pain)|i know a (?:bit|little|thing)
i (?:\w+ ){0,3}(?:once|myself)|once i
i too|i also(?! think| want| hear| see| hope| wonder)
i (?:had|was|lost|failed|felt|got(?! you| to )|went|did|cried|used to|spent|left|broke
    |struggled|sat|lived|moved|carried|needed|missed|learned|fell|hid)(?! (?:listening
    |here|too|wrong|sorry|wondering|thinking|hoping|not (?:mean|say|want|hear|know))
    | no idea| the (?:feeling|impression))
i have SOFT(?:had|felt|known|lost|struggled|failed|cried|done (?:that|it|the same)
    |seen it)
when i was|when my|back when i|at your age i
in my (?:own|first|case|twenties|life|family|last)|my own (?!view)
i (?:still |well |can )?(?:remember|recall)|reminds me of|takes me back
i can relate|for me too|as for me|so (?:did|was|have) i
my (?:own |old )?(?:ex|dog|cat|mother|mum|mom|father|dad|sister|brother|boss|friend
    |husband|wife|flatmates?|roommate|teacher|parents|son|daughter|grandmother
    |team) (?:\w+ )?(?:did|had|was|were|left|died|said|got|lied|forgot|went|lost|used
    |told|never|treated|dropped)
i (?:have|had) (?:\w+ )?(?:lost|failed|felt|been (?:through|left|there|fired|dumped
    |cheated|lonely)|gone through)
i have had
(?:years|months|weeks|ages|long) ago\b.* (?:i|my|me)|i\b.* (?:years|long) ago
last (?:year|term|summer|winter|month) i|i\b.* last (?:year|term|summer|month)
(?:i|me) (?:know|knew) (?:this|that|it) (?:well|too|from)
i have a (?:similar|like) (?:story|experience)
similar (?:thing|story|experience|situation)
my own (?:experience|life|story|divorce|breakup)
i (?:\w+ )?(?:did|could|would) not (?:\w+ )?(?:leave|eat|sleep|speak|get out
    |tell anyone) (?:\w+ )*(?:either|then|for weeks|for months|for days)
i (?:still )?(?:carry|bear|have|know) (?:\w+ ){0,4}(?:scars?|from my|from those
    |like (?:that|it) too|myself|from when)
(?:we|i) (?:had|went|lost|were|lived|fell|got)\b.* (?:too|as well|also|ourselves|myself
    |in my|in our)
""")

FLATTER = cues(r"""
you (?:are|look|will always be|were always|always were) VERY(?:amazing|awesome
    |incredible|wonderful|great|best|perfect|exceptional|remarkable|fantastic|special
    |smart|clever|beautiful|gorgeous|brilliant|extraordinary|gifted|talented|superb
    |splendid|marvellous|magnificent|lovely|flawless|unique|phenomenal|fabulous|charming
    |intelligent|terrific|outstanding|adorable|one in a million)
you (?:are|will always be|were always) VERY(?:\w+ )?(?:superstar|star|genius|hero
    |heroine|angel|queen|king|legend|saint|treasure|gem|goddess|champion|wonder|marvel)
you (?:are|look) VERYpretty(?= \?|$| and| girl)
you are VERY\w+ (?:\w+ ){0,2}(?:ever|alive|in the world|i know|i have ever|of all
    |on earth)
(?:best|nicest|kindest|sweetest|cleverest|smartest|finest|greatest|loveliest
    |most \w+) (?:\w+ ){1,4}(?:ever|alive|in the world|i know|i have|on earth)
(?:nobody|no one|none) (?:\w+ ){0,4}(?:like|compares? to|as \w+ as|better than) you
(?:everyone|everybody|we all|they all|people|anyone
    |the whole \w+) (?:\w+ ){0,3}(?:loves?|adores?|admires?|env(?:y|ies)|worships?
    |looks? up to) you
i SOFT(?:so )?(?:adore|admire|worship|love) you
too good for|you rock|you slay|good at everything|amazing at
queen|you never (?:do anything wrong|make (?:a )?mistakes?)
you always (?:get it right|know best|shine)
you (?:are|were) (?:an? )?(?:\w+ )?(?:born|natural) \w+
what an? (?:\w+ )*(?:person|human being|man|woman|soul|mind|human) you are
you (?:outshine|shine|dazzle|light up)
i (?:wish|want) (?:i|to) (?:were|was|be|could be) (?:\w+ ){0,2}(?:as|like
    |more like) (?:you|\w+ as you)
(?:lucky|blessed|honou?red) to (?:have|know) you|the world (?:needs|is lucky)
(?:smarter|better|cleverer|prettier|brighter|wiser|stronger) than (?:all|everyone|anyone
    |any|everybody|anybody|the rest)
above (?:all of )?them
you (?:can|could) do anything|you are everything
nobody (?:can|could) (?:match|beat|resist) you
the (?:cleverest|smartest|nicest|best|most \w+) (?:\w+ )?(?:of|in|i|around|person)
never (?:met|seen|known) (?:anyone|anybody|someone|a (?:\w+ )?(?:person|man|woman))
you are the \w+est|(?:dream|ray|gift|jewel|diamond|blessing) (?:of|to|from)
turns to gold|everything you (?:do|touch|say) is
such (?:an? )?(?:brilliant|amazing|wonderful|beautiful|clever|great|fine|rare|bright
    |sharp|gifted) (?:\w+ )?(?:you|mind|person|soul|heart|head)
born to|(?:above|beyond) compare|without (?:an )?equal|second to none
you are (?:\w+ ){0,3}(?:superior|flawless|admirable|divine|a dream|irresistible)
you have no (?:equal|match|rival|flaws?)
(?:cleverest|smartest|nicest|finest|best|sweetest|kindest) (?:\w+ )?(?:i|one)
""")

# Praise of what the person did, also where the value itself is not named.
AFFIRM = cues(r"""
(?:i )?(?:really |so |truly )*(?:admire|respect|am proud of|am impressed) (?:by 
    |with )?(?:how|that|what|the way|you for)
proud of you|well done|good (?:for|on) you|hats off|credit to you|props to
you (?:\w+ )?(?:kept your|managed to|handled|protected|faced|held on|made it through
    |carried on|got through|never stopped|stood up|refused to (?:give|let|lie)|found a
    |stayed (?:strong|kind|fair|calm|true)|did not (?:give up|run|back down|let them))
(?:that|this|it) (?:\w+ )?(?:takes?|took|shows?|showed|needs?|needed
    |speaks) (?:\w+ ){0,3}(?:strength|heart|character|spirit|backbone|real|care|love
    |great|for you)
you (?:have |had )?(?:given|gave|put|did|done) (?:it |them |him |her )?(?:all|everything
    |your) (?:\w+ ){0,2}(?:you had|you could|best|all)?
what (?:an? )?(?:courage|patience|kindness|loyalty|honesty|effort|strength)\b.*
(?:i|we) (?:\w+ )?(?:saw|noticed|value|appreciate|honou?r) (?:how|what
    |the way) (?:\w+ ){0,2}you (?:\w+ )?(?:\w+ed|went|did|stood|kept|gave|told|held|are)
""")

NO_FAULT = cues(r"""
not (?:\w+ ){0,3}your (?:own )?(?:fault|doing|mistake|responsibility|failure|burden)
(?:not|none)(?: \w+){0,5} (?:on|down to|because of) you|never your fault
no fault of yours
none of (?:this|it|that|what \w+)(?: \w+){0,3} your (?:own )?(?:fault|doing)
(?:think|believe|say|said) (?:that )?it was your fault
not (?:\w+ ){0,3}(?:to blame|responsible for|at fault|the (?:cause|reason|one to blame))
blameless|you are innocent
(?:not|stop|never|no need to|quit|without|no reason to) (?:\w+ )?(?:blam\w+|beat(?:ing)?
    |punish\w*|accus\w+|torment\w*) yourself
against yourself
(?:not|stop|never|no need to) (?:\w+ )?(?:tak\w+|carry\w*|feel\w*|be
    |being) (?:\w+ )?(?:the blame|the guilt|guilty|responsible|so hard on yourself
    |hard on yourself)
(?:not|never) (?:\w+ )?(?:do|done|did) anything (?:wrong|bad|to (?:cause|deserve|bring))
nothing wrong$|(?:did|done) nothing (?:wrong|to|that|of)
you (?:\w+ )?not (?:cause|bring|deserve|ask for|choose|make)
nothing (?:\w+ ){0,3}you (?:\w+ )?(?:could|did|said|might|should) (?:have|caused|made)
you (?:did|said) nothing
(?:could|can) (?:\w+ )?not (?:\w+ )?have (?:\w+ )?(?:known|done|prevented|stopped|seen
    |foreseen|guessed|expected|avoided|saved|helped|changed|predicted)
(?:no way|no one|nobody|how|who|none of us)(?: \w+){0,3} (?:could
    |can) (?:\w+ )?have (?:\w+ )?(?:known|done|seen|foreseen|guessed|prevented|expected
    |stopped|predicted)
(?:out of|not in) your (?:hands|control)|beyond your control
you did (?:all|everything|what|the best) (?:that )?you could
not say (?:that )?you should have
(?:nobody|no one) (?:can|could|should|would|will) blame you
(?:fault|blame) (?:is|was|lies|lay) (?:\w+ )?(?:theirs|his|hers|with (?:him|her|them
    |the))
(?:is|was) (?:on|down to) (?:them|him|her)
nothing (?:more |else )?(?:that )?(?:you|anyone|anybody|one) could(?: have)?
(?:no matter|whatever|regardless of) what you (?:did|do|had done)
you (?:are|were) not the (?:one|reason|cause|problem|culprit)
(?:decision|choice|doing|mistake|responsibility|failure|failing|problem|fault
    |blame) (?:is|was|lies|belongs|and) (?:\w+ )?(?:not yours|theirs|his|hers|with
    |to (?:him|her|them))
and not (?:yours|you)$|you (?:did|do) not (?:make|do) (?:this|it|that)
you (?:have|had|bear|carry) no (?:blame|fault|part|reason to (?:feel|be) (?:guilty
    |ashamed)|say|control)
(?:did|do|have|had) (?:\w+ )?not (?:fail|failed|let (?:him|her|them) down|harm|ruin)
(?:nothing|not) (?:\w+ )?to (?:be ashamed|feel guilty|apologi[sz]e|be sorry)(?: \w+)*
not yours to carry|you are not (?:\w+ )?(?:guilty|responsible|a failure)
done to you
(?:guilt|blame|responsibility|fault|shame) (?:\w+ )?(?:belongs?|lies|rests
    |sits) (?:\w+ )?(?:with|to|on) (?!you)\w+
you could do nothing|no part\b.* you|caused by you
you were (?:only|just) (?:a|doing|trying|\d+)|you were a (?:child|kid)
not of your making|(?:no|any) blame|you (?:are|were) the (?:victim|one who was)
let (?:yourself )?off the hook|forgive yourself
(?:had|have|played|took) no (?:hand|part|share|say|choice|power)
not think (?:that )?you (?:caused|did|made|failed|were|are)
not you(?: who)?(?=,| \?|$| who)|held responsible
not (?:\w+ )?(?:held|hold yourself) (?:\w+ )?(?:responsible|guilty)|just bad luck
not (?:\w+ )?to be blamed|not have done (?:otherwise|more|better|anything)|beyond you to
(?:nobody|no one) (?:blames|holds)|through no fault
""")

CUES = {
    "validate": VALIDATE, "presence": PRESENCE, "disclose": DISCLOSE, "affirm": AFFIRM,
    "flatter": FLATTER, "no_fault": NO_FAULT, "sides": views.SIDES,
    "motives": views.MOTIVES, "self_look": views.SELF_LOOK, "advise": views.ADVISE,
    "lecture": views.LECTURE, "platitude": views.PLATITUDE, "dismiss": views.DISMISS,
}  # fmt: skip
