"""Cues of the acts that explain, advise, lecture, comfort by phrase, or dismiss.

How a cue is written: `free_text_pattern`. Built as `free_text_cues` says.
"""

from helpers.agents.free_text_pattern import cues

SIDES = cues(r"""
(?:two|both|many|more than one|different|either|another|other|several
    |every) (?:\w+ )?(?:sides?|perspectives?|points? of view|views?|viewpoints?|angles?
truths?|ways (?:to|of) (?:see|look))
(?:on|from) (?:the )?(?:one|other) (?:hand|side|end)|on the other|pros and cons
for and against|(?:good|bad) and (?:the )?(?:bad|good)|ups? and downs?
both (?:of you|things|at once|may|can|have|are|were|matter|true|right|his|her|of those)
(?:you|they|are|were|have|had|could|can|may) both|get both
(?:each|either|neither|none) of you|(?:each|either|neither) (?:side|is|was)
middle ground|weigh(?:ing)?
(?:not|never) (?:\w+ )?(?:black and white|black or white|clear[- ]cut|one[- ]sided
all bad|all good)
grey area|cuts both ways
(?:part|half|side) of (?:you|it|this|me)\b.* (?:part|another|other|half)
(?:his|her|their|the other|\w+'s) (?:side|point|view|perspective|end|angle
shoes)\b.* (?:yours?|too|as well|also)
(?:yours?|your (?:side|point|view))\b.* (?:his|hers|theirs)\b
where (?:\w+ ){1,4}(?:are|is) coming from.*(?:too|both|also)
(?:but|yet|though|although|and) (?:\w+ ){0,3}(?:also|at the same time|as well|equally)
(?:some|a (?:bit|grain)(?: of)?) truth in|ha(?:s|ve) a point|partly right
(?:true|right) too
while (?:you|it|he|she|they) .*(?:also|at the same time|too)|this side and
(?:from|in) (?:his|her|their) (?:chair|eyes|place|position|end|seat|window)|seen from
look at (?:it|this|that) (?:from|another|differently)
there is (?:what|your|his|her|the) \b.* and (?:there is|what|his|hers|her|theirs|yours
the)
(?:but|though|yet) (?:perhaps |maybe |it |you |that )*(?:also|equally|may have
might have|has its)
(?:neither|nobody|no one) (?:of (?:you|them) )?(?:is|was) (?:\w+ )?(?:right|wrong
the villain|all)
(?:right|wrong) on both|in between|somewhere in the middle|each (?:had|has|have)
the other side
(?:good|bad|hard|painful|true|sad) (?:\w+ ){0,3}(?:but|and|yet) (?:\w+ ){0,4}(?:good
right|true|chance|freedom|free|relief|necessary)
(?:gain|loss|price|cost|advantage|benefit)s?\b.* (?:gain|loss|price|cost|drawback
advantage|but|also|and)
(?:he|she|they) (?:has|have|had) (?:his|her|their) .* yours?
and (?:still|yet) (?:it|you|he|she|they)|as an? \w+(?: \w+)? (?:or|and) as an?
the truth (?:is|may be|lies|might)|as much as|just as (?:much|true)
(?:you|yours?) (?:\w+ )*(?:and|but) (?:so )?(?:\w+ ){0,3}(?:is|are|may be|might be|has
have|was|were) (?:\w+ ){0,3}(?:hers|his|theirs|as well)
(?:his|her|its|their|a) (?:good|bright|dark|bad|hard|light) (?:side )?and
(?:can|may|could|might) be an? \w+ (?:as well|too|also)
and so (?:is|are|does|has|do|have) (?:he|she|they|his|hers|theirs)
(?:two|both|several) things (?:are|can|may)
(?:was|were|is|are) (?:wrong|right|rude|unfair|harsh|unkind)\b.* (?:yet|but|though
although) (?:he|she|they|you)
""")

MOTIVES = cues(r"""
GUESS (?:that )?(?:\w+ )?THEY\b.*
THEY (?:\w+ )?(?:may|might|could|must|would|will often|can) (?:\w+ ){0,3}MIND
THEY (?:may|might|could|must) (?:well )?(?:have|be|not have)
THEY (?:is |are |was |were )?(?:\w+ )?(?:probably|perhaps|maybe|possibly|likely)
THEY\b.* (?:because|since) (?:he|she|they|of THEIR)
out of (?:fear|love|worry|habit|shame|pride|panic|jealousy|envy|loneliness|spite)
(?:people|men|women|some|parents|those|folk|everyone|one) (?:\w+ ){0,6}(?:when|because
    |if|who|out of|to hide|to cover)\b.* (?:they|their|them|he|she|one)
(?:sometimes|often) (?:people|someone|those|a person|parents|folks?)
what (?:\w+ ){0,3}(?:going on|happening) (?:for|in|with|inside) (?:him|her|them|THEIR)
what (?:\w+ ){0,3}(?:made|drove|moved|makes) (?:him|her|them)
THEIR (?:\w+ )?(?:behaviou?r|reaction|reasons?|insecurit\w+|upbringing|motives?
own (?:\w+ )?(?:fears?|insecurity|pain|stress|worries|pressure|problems|troubles
hurt))
(?:takes?|taking|took|taken) it out on|lash\w* out
could it be that (?!you)(?:THEY|\w+)\b.*
THEIR (?:silence|anger|coldness|words|temper|rudeness|distance|harshness|cruelty
jealousy|fear|pride|shame)\b.* (?:come|comes|came|may|might|could|is|was|from)
(?:fear|shame|jealousy|envy|pride|stress|worry|anger|hurt|pressure|grief|insecurity
loneliness) (?:\w+ )?(?:makes?|drives?|turns?|leads?|brings?|does|can make|often)
(?:people|bosses|parents|teachers|friends|men|women|fathers|mothers|children|managers
those|leaders) (?:\w+ ){0,4}(?:often|sometimes|tend to|lash|under (?:pressure
stress)|who (?:feel|are|fear))
THEY (?:\w+ ){0,2}(?:simply|just|really|only|maybe|perhaps) (?:\w+ ){0,3}MIND
(?:might|may) (?:simply |just )?not have
(?:what|why) (?:\w+ ){0,2}THEY (?:\w+ )?(?:acted|did|does|said|behaved|reacted|snapped
left)(?! to you| next)
from THEIR (?:past|childhood|history)
GUESS (?:it|that) (?:is|was) (?:all|how|what|just|only|THEIR)
THEY (?:did|does|do|was|were) not (?:\w+ ){0,3}(?:to (?:hurt|wound|harm|be)|mean|meaning
know|aware|able)
trying to (?:protect|save|help|hide|impress|keep|please|look)
(?:maybe|perhaps|probably) (?:that|this|it) (?:explains|(?:is|was) (?:why|how|what
because))
that (?:is|may be|might be|could be) why (?:he|she|they)
(?:person|people|man|woman|someone|somebody|anyone|those|they|he
she) who (?:\w+ ){1,5}(?:is|has|have|were|feels?|often|usually|fears?)
(?:it )?(?:seems|looks|sounds) (?:to me )?(?:like|that|as if|as though)? ?(?:he|she
they) (?:\w+ ){0,3}(?:acted|did|felt|feels|wanted|had|tried)
(?:he|she|they) (?:could|did|can|do|does) not (?:\w+ )?(?:show|see|say|know|help|cope
mean|find|bear|handle|realise|understand)
no doubt (?:THEY)|THEY (?:\w+ )?(?:surely|doubtless|certainly|no doubt)
not wonder if (?:he|she|they)|meant (?:well|no harm)|(?:he|she|they) had cause to
""")

SELF_LOOK = cues(r"""
your (?:own )?(?:part|share|role|contribution|behaviou?r|hand in)
(?:part|share|role|bit)(?: \w+){0,4} (?:(?:was|is|were) (?:yours|you|your own)|of yours)
(?:is|was|bit|any|some|what|anything|something)\b.* (?:on|from) your (?:own )?side
part (?:did|was|do) you
(?:how|what) (?:might|may|could|did|do|would|can) (?:\w+ )?you\b.* (?:contribut\w+
    |differently|different|change|bring|brought|come across|learn|take from|take away)
(?:do|done|say|said|handle|handled|try|go about) (?:\w+ ){0,2}different(?:ly)?
different(?:ly)? (?:next|another|a second) time
learn\w* (?:\w+ ){0,2}(?:from|about yourself)|what (?:could|can|did) you learn
take away from
you (?:may |might |could |perhaps |also )*(?:have )?contribut\w+
(?:could|might) it be (?:\w+ )?(?:that )?you (?:\w+ )?(?:also|too|yourself|may|might
pushed|hurt|were)
(?:might|may|could|did|have|had|were|was) you (?:\w+ ){0,2}(?:also|yourself|have (?:been
said|misread|made|come))
ask(?:ed|ing)? yourself|look\w* (?:\w+ )?(?:at|into) yourself|look inward|in the mirror
your own actions
(?:how|the way|what|why) you (?:came across|react(?:ed)?|behav\w+|sounded|spoke|acted
put it|did|handled|might have|may have|could have (?:done|said
handled))
(?:did|do) you (?:maybe |perhaps |think you )*(?:did |do |say |said )?(?:something
anything) (?:\w+ )?(?:wrong|to|that)
(?:something|anything) (?:that )?you (?:did|said|would (?:do|change)|could have
may have)
you (?:\w+ )?did something|set (?:him|her|them) off
what (?:does|do|did) (?:this|it|that) (?:say|tell|teach|show) (?:you )?about (?:you
yourself)
i wonder (?:if|whether) you (?:\w+ ){0,3}(?:also|too|were|may|might|could|have)
(?:if|when) you are honest|to be honest with yourself|being honest with yourself
how do you (?:think|imagine|suppose) (?:\w+ ){0,2}(?:it|this|that|he|she|they
you) (?:\w+ )?(?:felt|was|came|looked|seemed|sounded|heard)
a moment (?:when|where) you
(?:did|were|have|had|could|would|might) you (?:\w+ ){0,2}(?:perhaps|maybe|sometimes|also
really)? ?(?:listen|too (?:hard|harsh|quick|strict|proud|hasty)|been too|expect too
give (?:him|her|them) a|hear (?:him|her|them))
looking back(?: \w+)*|in hindsight|what would you (?:do|say|change)
what (?:is|was) (?:it )?in (?:this|it|you) (?:for|that)
(?:pattern|habit)s? (?:of yours|in you|you)|how you (?:may|might)
you (?:may|might|could) (?:\w+ )?have (?:\w+ )?(?:hurt|misread|misunderstood|sounded
overstepped|been (?:too|a bit|a little|unfair|harsh)|played|had a)
(?:grow|growth|change) (?:from|in) (?:this|you)
you (?:also|too) (?:played|had|have|did|said|made)|you played a|honest look
take a (?:\w+ )?look at (?:your|how)
(?:think|reflect|look back) (?:about|on|at) (?:how|what|why) you
(?:possible|fair to say|true) (?:that )?you (?:\w+ )?(?:hurt|misread|overlooked|were|did
also|too|have)
might you have
what (?:might|could|may|did) you (?:have )?(?:miss|missed|misread|overlooked?|avoid
avoided|add|added)
did you always|your own (?:words|actions|expectations|tone|doing)
(?:play|played|have) (?:a|any|some) (?:part|role|share|hand)|what would you change
""")

ADVISE = cues(r"""
you (?:could|might|may|can) SOFT(?:also |always |try |want )?(?:to )?(?!have\b|be\b|feel
    |do (?:differently|it)|learn|come to me|say|tell me|talk to me|text me|call me|not\b
think)\w+
i (?:would )?(?:strongly )?(?:suggest|recommend|advise|encourage|propose)
my (?:advice|suggestion)|if i were you
how about|what about|what if you|why (?:do|would) (?:not you|you not)|why not
have you (?:tried|considered|thought (?:of|about)(?! (?:what|how|why) you))
consider \w+ing
it (?:may|might|could|can|would|will|often|sometimes) help (?:you )?(?:to|if)|it helps
helps? to|do you (?:some |a world of )?good
let us(?! (?:talk|speak|move|change) (?:about|of|on))
(?:^|maybe |just |please |perhaps |then |and |so |first |well |now |tonight |tomorrow 
ok )(?!go on\b)DO
you (?:should|need to|ought to|must|have to|deserve to) SOFT(?:to )?DO
you (?:need|could do with|could use) (?:some|a) (?:rest|sleep|break|nap|holiday|walk)
(?:good|nice|better|best|wise|worth|time|idea) (?:\w+ ){0,2}to (?:DO)
worth (?:a try|trying|\w+ing)|you would do well to
(?:a|some|\w+ing) (?:\w+ ){0,6}(?:might|may|could|would|will|can|often|always
sometimes) (?:help|clear|calm|ease|work wonders|make (?:it|things) (?:easier
clearer))
(?:best|first|next|good) (?:thing|step|way) (?:\w+ )?(?:is|would be|might be)
^(?:(?:maybe|perhaps|please|just|and|then|so|first|tonight|today|now
better) )*(?!go on\b)(?:sleep on|talk (?:it|this) over|speak|talk|reach|look|keep
begin|turn|stay|go|hold off|leave|note|allow yourself|treat|stick|move|focus|spend
save|check|forgive) (?:\w+ )?(?:with|to|on|up|out|at|for|by|from|a|the|your|it|some
down)(?! me\b)
you (?:could|might|may|can) (?:\w+ )?(?:want|wish|like) to(?! tell| talk about| say
 share)
(?:next|first|small|one|good|possible|another) (?:step|thing|idea|move|option
way)\b.* (?:be|is|help|could|might|would|to)
(?:wonder|think|see) (?:if|whether) (?:a|some|it|\w+ing) (?:\w+ ){0,4}(?:help|do you
good)
in your (?:place|shoes) i would(?! feel| be)|were i you|there is always the
it (?:is|would be|might be) (?:worth|wise|good|best)
(?:could|can|might|would) you (?:not |maybe |perhaps )?(?:ask|call|phone|ring|write|rest
visit|plan|invite|join|speak to|try)
(?:^|just |please |maybe )do not (?:answer|decide|reply|send|quit|sign|rush|go|drink
text|write)
(?:a|an|some) (?:\w+ ){1,6}(?:would|might|could) be (?:wise|good|nice|useful|helpful
a start)
you (?:had|would) better
i would (?!be|feel|have|like|love|not|say|stay|sit|listen|gladly|hear|come|also|too|do
never|react|call that)\w+
(?:it|that) (?:is|would be|might be|may be) (?:\w+ )?(?:wise|best|good|sensible|better
worth) (?:to|if you|\w+ing)
(?:would|might|could|will|may|can) (?:\w+ )?help$
(?:a|some|\w+ing|good \w+) (?:\w+ ){0,4}sleep (?:would|might|will)
(?:^|please |just |maybe )(?:work out|turn to(?! me)|take a day|go to bed|get in touch)
""")

LECTURE = cues(r"""
you (?:really |just |simply |will )*(?:should|must|need|have|ought|had better|have got
    |are supposed)(?: really| just)?(?: to)?(?: really| just)? (?:not|stop|learn|be|know
control|grow|get over|get your|get a|toughen|take responsib\w+|accept|respect
try harder|man up|think (?:of|about) (?:others|other people)|pull|show|realis?ze?
understand|appreciate|forgive|act|behave|stand up|face|let go|have (?:more|some)
start (?:being|acting)|care less|work on|remember|expect)
you can not (?:just )?(?:expect|go on|keep|always|run|hide|have everything|let)
grow up|toughen up|get over yourself|get a grip|pull yourself|snap out|suck it up
act your age|your act together
(?:^|just |please |and )(?:be (?:a man|strong|strong|grateful|realistic|sensible
reasonable|more|brave|tough|mature)|do not be (?:so|such|a|silly|childish|lazy
selfish|weak)|learn to|have some (?:respect|discipline|backbone|self-control))
stop (?:being|feeling|whining|complaining|crying|moaning|acting|making|thinking|playing
wallowing)
how many times|when will you|you know better|at your age|no way to behave
high time (?:that )?you|about time you|it is your (?:duty|responsibility)
(?:one|a (?:man|woman|person|adult|grown \w+)|people|we all|we|children|adults
young people) (?:must|should|has to|have to|ought to|needs? to)(?! be (?:hard
exhausting|proud))
your problem is|the (?:problem|trouble) with you
you are too (?:soft|trusting|naive|nice|lazy|proud|stubborn)
no excuse|you brought (?:it|this)|you never (?:listen|learn|think)
the world (?:does not|owes)|wrong of you|irresponsible|immature
you (?:should|must|ought to) (?:really |never |always )?have (?:listened|known|thought
been|done|worked|planned|told|stood|tried|said)
you (?:have to|must|should|need to) (?:\w+ )?(?:think|consider|stop|start|behave|improve
obey|listen)
do not be (?:so|such|a|childish|lazy|selfish|ungrateful|weak|naive)
(?:it is|is) (?:\w+ )?time (?:that )?you (?:\w+ )?(?:grew|took|learned|learnt|stopped
started|faced|acted|got)
(?:adults|grown[- ]?ups|strong people|real (?:men|women)|mature people|good (?:children
wives|mothers|friends)|responsible people)\b.*
that is (?:not )?(?:how|the way) (?:one|adults|grown|people|you should)
(?:important|necessary|essential) (?:that you|for you to|to)
you (?:lack|are not trying|do not try|give up|let everyone)
(?:discipline|self-control|willpower|responsibility) (?:is|and|that)|self-pity
you must not|never (?:be|let yourself|show|trust)
(?:is|was) not how (?:you|one|people|a|we)|old enough|show (?:some|more|a little)
you (?:have|need|must|ought|should) to get used|take (?:\w+ )?responsibility
control yourself|learn from your|(?:no|not) (?:self-pity|use crying)
(?:man|woman|person|adult|boy|girl|lady|lad|people) (?:\w+ ){0,3}(?:does not|do not
never|who|have no|has no|should not)(?: \w+){1,6}$
you (?:have|had) no (?:right|excuse|business)|(?:no right|nothing) to complain
you (?:should|ought to|must) (?:\w+ )?(?:know|have)
it does not do to|mind your|you would do well to (?:mind|remember|behave|be)|one must
with oneself
""")

PLATITUDE = cues(r"""
(?:it|this|that|things?|everything|all|you|we) (?:\w+ )?(?:will|is going to|are going to
    |going to|always) (?:\w+ ){0,2}(?:be (?:fine|ok|okay|all right|alright|good|well
better)|work(?:s)? (?:itself |themselves )?out|gets? better|come right|turns? out
blow over|pass|fall into place|be over)
(?:will|going to) (?:all |always )?(?:be (?:fine|ok|okay|all right|alright)|work out
get better|come right|turn out|sort itself out)
time (?:will )?heals?|time (?:will tell|cures|is (?:a|the) (?:\w+ )?(?:healer|best))
give it time|everything happens|happens? for a reason|all for the best
silver lining|light at the end|bright(?:er)? side
(?:^|just |always )(?:stay|be|think|keep) (?:positive|strong|smiling)
(?:good|positive) vibes
(?:it|things|life) (?:will )?(?:gets?|only gets?) (?:better|easier)|fish in the sea
tomorrow is (?:another|a new)|a new day|meant to be|chin up|head up
does not kill|makes? (?:you|us) stronger|it is what it is|that is life|such is life
life (?:goes on|is (?:short|hard|tough|full|like|what|too short))|c'est la vie
(?:this )?too (?:will )?pass|every (?:cloud|storm|ending|end)|one door closes
rome was not|after (?:the )?rain|sun (?:will|always)|no pain|hang in there
keep (?:going|fighting|calm|the faith|your chin)|never give up|have faith
(?:better|good|brighter) (?:days|times|things) (?:will|are|lie|come)|goes around
whatever will be
follow your heart|believe in yourself|you only live|best medicine|count your blessings
(?:one|a) day at a time|nobody is perfect|no one is perfect|half full
love (?:conquers|will find)|darkest|things happen
you will (?:look back|laugh|find someone|see)
better luck|spirits up|life (?:is|has|can be|will|always|never|gives|throws)
good things (?:come|take)|god (?:never|only|has|will|works|gives|does)
heaven (?:helps|knows)|(?:is|it was|call it) fate
destiny|the universe
you will (?:get|be|come) (?:\w+ )?(?:over it|fine|okay|ok|all right|alright|better
stronger|there|through (?:it|this))
sort(?:s)? (?:itself|themselves) out|the (?:best|worst) (?:is|of it) (?:yet|over)
all (?:things|good things|wounds|is for)
nothing (?:lasts|is impossible|ventured|stays)|(?:laugh|smile) (?:and|more|at)
where there is|look (?:ahead|forward|to the future)|the past is|let bygones|patience is
practice makes|win some|everyone (?:gets|goes through|has (?:bad|their))
(?:that is|so is) (?:just )?(?:life|love|how it goes|the way)|what will be
in the long run\b.*|in (?:good|due) (?:time|course)
new (?:beginning|chapter|door)s?|opportunit(?:y|ies) in|blessing in disguise
learn(?:ing)? experience
(?:love|hope|truth|good|goodness) (?:always|never|will)
you will (?:\w+ )?(?:find|meet|have) (?:\w+ )?(?:better|another|someone|love|more)
there is always|all you need is|everything (?:will|is|comes|has)
just (?:believe|smile|breathe)|when life
after (?:every|each|a|the) (?:\w+ )?(?:winter|night|storm|rain|low)
(?:who knows|you never know) (?:what|where|how|when)
(?:comes?|brings?|after) (?:a |the )?(?:spring|rainbow|sunshine)
(?:some|what) good (?:may|will|can|might)|all will be|and it will pass
god's (?:will|plan)|the lord (?:gives|has|will)
things (?:always|will|have a way)|(?:every|each) (?:dawn|new day)
every rose|live and learn|(?:life and|there is|there will be) hope|you will laugh
""")

DISMISS = cues(r"""
(?:no|not|hardly|barely|never) (?:\w+ )?(?:such |as |so |that |a |an |the |really 
    |exactly |quite )*(?:big |huge |great )?(?:deal|tragedy|catastrophe|disaster|drama
serious|deep|bad|terrible|end of the world|important)
not (?:think|believe) (?:that )?(?:it|this|that) is (?:as|so|that)
not (?:such )?a (?:big )?(?:thing|problem)|big deal$
(?:it|that|this) (?:is|was) (?:only|just|merely) (?:a|an|one|some)
nothing to (?:\w+ )?(?:cry|worry|fuss|be|get|make)|(?:it|that|this) is nothing
(?:over|about) nothing
(?:a|the|such|much) fuss
(?:make|making) (?:such )?(?:a|the) (?:\w+ )?(?:scene|mountain|drama)|mountain out of
out of (?:all )?proportion
(?:could|might) be worse|(?:have|had|has|having|got) it (?:\w+ )?worse
(?:far|much) worse|at least (?:no|you|it|nobody|they|he|she)
people are (?:starving|dying)|you are lucky
calm down|never ?mind|move on|let it go|forget (?:about )?(?:it|him|her|them)
get on with|(?<!will )get over (?:it|him|her|them)|leave it (?:behind|at that)|chill
relax|drop it|shake it off|cheer up
who cares|so what(?= \?|$)|do not care|not my (?:problem|business)
what is the (?:big |great )?(?:deal|fuss|problem)|no time for
overreact\w*|over ?think\w*|think too much
too (?:dramatic|emotional|sensitive|much of it)|drama queen|exaggerat\w+
all in your head|imagining (?:it|things)
you are being (?:silly|ridiculous|dramatic|childish|difficult)|nonsense
anyway,? (?:did|have|how|what|i|let)|change the (?:subject|topic)
another (?:topic|subject)
(?:talk|speak) (?:about|of) (?:something|anything) (?:else|more|other|nicer?|happ\w+)
oh sure|what a tragedy|wow,? poor you|poor you$|cry me|boo hoo|yeah right
someone who cares
one way to (?:feel|see|look)|hope your day
thank(?:s| you) for (?:sharing|your (?:message|feedback))$
(?:can|could) not be (?:\w+ )?(?:that|so|as) (?:bad|hard|awful|terrible)
too much of (?:it|this|that)|is that all
(?:not|let us not) (?:dwell|go on|talk|waste|spend|discuss)\b.*
(?:some|most|plenty|many|lots) of us have (?:real|bigger)
(?:real|bigger|worse|other) (?:problems|worries|things to)
(?:do not|not) (?:be silly|be dramatic|be ridiculous|make|worry (?:so much )?about
see (?:what|why) (?:the|you|it)|cry over|fuss|take it so)
save it for|silly|ridiculous|happier things|lighter things
(?:soon|already|just) (?:be over|forgotten|forget)
you will (?:soon )?(?:forget|survive|live)
(?:happens to|everyone|everybody|we all) (?:everyone|everybody|us|has (?:problems
worries|that)|have (?:problems|that))
(?:children|people|others) (?:in|elsewhere|out there|suffer|would be glad)
(?:trivial|petty|trifle|peanuts|small stuff|tiny|minor|a detail)\b
(?:i am|i have) (?:\w+ )?(?:busy|no time|to go|work to do)
enough (?:of|about) (?:that|this|it)|lucky (?:it|you|that)|i have heard worse
is it really (?:so|that|such|worth)
why (?:are|do) you still|still (?:on|going on|upset) about
there are (?:\w+ )?(?:children|people|others|those|worse|bigger)|so seriously
not (?:\w+ )?(?:a|any) (?:\w+ )?(?:reason|cause) (?:to|for)|just ignore
(?:greater|bigger|worse|far worse|harder) (?:sorrows?|things?|problems?|worries
troubles?|times|losses)
(?:be|have) (?:\w+ )?forgotten|not (?:bother|trouble|bore) me|did not complain
go and (?:play|enjoy)|it will pass$|too much of|stop (?:thinking|talking|going on) about
(?:old|same) (?:story|song)|not (?:again|this again)
i would not (?:lose|worry|waste|make)
take on so|you will laugh (?:about|at)|heard enough|mere \w+|a trifle
no more of (?:this|that|it)
""")
