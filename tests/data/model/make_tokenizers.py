#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the small tokenizers of this folder, and the output of the reference libraries for difficult texts.

    python3 -m venv /tmp/tokenizers
    /tmp/tokenizers/bin/pip install sentencepiece==0.2.2 protobuf tokenizers==0.23.3 ftfy==6.3.1
    /tmp/tokenizers/bin/python make_tokenizers.py

spiece.model          Unigram with NFKC character map and byte fallback; expected by sentencepiece
tokenizer.json        the same pieces as transformers converts T5's models: no byte fallback
tokenizer_bytes.json  with byte fallback, no character map, text split at spaces first (older T5 files)
expected.json         token IDs of every text for each of them, and cleaned prompts by ftfy
"""
import html
import io
import json
import pathlib
import random
import re

import ftfy
import sentencepiece
from sentencepiece import sentencepiece_model_pb2 as pb
from tokenizers import AddedToken, Regex, Tokenizer, normalizers, pre_tokenizers, processors
from tokenizers.models import Unigram

FOLDER = pathlib.Path(__file__).resolve().parent

WORDS = {
    "en": "a the town desert forest courtyard with tall red tower small blue house and an old stone gate at "
          "night under heavy rain camera moves slowly forward turns left looks around then back to where it "
          "started fountain in middle of square statue bridge over quiet river windows glowing warm light",
    "de": "ein Marktplatz mit hohem Turm über der Stadt und gemütliche Häuser im Schnee die Kamera dreht sich",
    "fr": "une forêt près du château où l'été brille à travers les fenêtres très claires",
    "ru": "камера медленно движется вперёд через старый город ночью под дождём",
    "zh": "镜头 缓慢 向前 移动 城市 夜晚 红色 的 塔 和 古老 的 石门",
    "ja": "カメラ が ゆっくり 前 に 進む 古い 町 の 夜",
    "ko": "카메라가 천천히 앞으로 움직인다 오래된 마을",
    "ar": "تتحرك الكاميرا ببطء إلى الأمام في المدينة القديمة",
    "hi": "कैमरा धीरे धीरे पुराने शहर में आगे बढ़ता है",
}

TEXTS = [
    "", " ", "a", "A red tower.", "a red  tower   with spaces ", "\ttabs\nand\r\nlines\u2028too",
    "the camera moves slowly forward, then looks back to where it started!",
    "Häuser über der Stadt: gemütlich", "une forêt près du château où l'été brille",
    "cafe\u0301 and e\u0301te\u0301 with combining marks, n\u0303 too", "a\u0301\u0323 stacked marks",
    "камера медленно движется", "镜头缓慢向前移动，红色的塔。", "カメラがゆっくり前に進む。ﾊﾝｶｸ ｶﾞ",
    "카메라가 천천히", "각 decomposed jamo", "تتحرك الكاميرا ببطء", "कैमरा धीरे धीरे",
    "emoji 😀 🏰🌧️ 👩‍👩‍👧‍👦 🇩🇪 👍🏽", "full width ＡＢＣ１２３！ and ideographic\u3000space", "ligatures ﬁ ﬂ ﬃ, fractions ½ ¾, ①②③, ™ ℃ Ⅷ",
    "zero\u200bwidth\u200dand\u00adsoft\ufeffhyphen", "no\u00a0break and \u2003em spaces",
    "curly ‘single’ “double” „low“ … – — ―", "math 𝒜𝔹ℂ 𝟙𝟚 ∑∏√∞≠", "<b>bold</b> &amp; &lt;tag&gt; &quot;q&quot; &#39;",
    "</s> inside <unk> and <pad>, also<extra_id_0>here <extra_id_1>", "▁already ▁marked", "a" * 300,
    "supercalifragilisticexpialidocious", "12345 67,890.12 3.14e-10 $5.00 €9 50%", "UPPER lower MiXeD",
    "control\x01\x02\x7fchars", "\u00a0\u0301 mark on a space", "x\u200d \u0958 क़ ड़", "Ω Å Å Ǆ ǆ ŉ",
    "𠮷野家 rare han 𪚥", "ᚠᛇᚻ runes ꙮ", "mixed 日本語 and English と русский 한국어 together",
]
random.seed(7)
TEXTS.append(" ".join(random.choice(random.choice(list(WORDS.values())).split()) for _ in range(600)))
TEXTS.append(" ".join(random.choice(WORDS["en"].split()) for _ in range(600)))

PROMPTS = [
    "plain prompt", "  spaces \t and\n\nlines  ", "a &amp;amp; b &lt;c&gt;", "&amp;lt;b&amp;gt; twice &copy &copy; &notin; &eacute;t&eacute;",
    "&#39;quoted&#39; &#x27;hex&#x27; &#128512; &#150; &#xD800; &#0;", "curly ‘single’ “double” „low‟ ʼ",
    "schÃ¶n, dÃ©jÃ  vu, naÃ¯ve", "itâ€™s a â€œtestâ€\u009d â€“ yesâ€¦", "price Â£5, 20Â°C, Â©2024", "emoji ðŸ˜€ ok", "âœ” done â†’ next â„¢",
    "ï»¿byte order mark", "Å¡koda Å¾ivot Ä\u008desko", "double \u00c3\u0192\u00c2\u00a9 trouble", "CAFÉ» and «É» stay", "Ünïcödé stays: é, ñ, Å, Ø",
    "ligatures ﬁne ﬂow oﬃce ĳs", "full ＷＩＤＴＨ！ and\u3000space", "bell\x07 and \x1b[31mred\x1b[0m text", "c1 \x93quotes\x94 \x85",
    "line\u2028separator\u2029paragraph", "zero\ufeffwidth", "tag <b>&amp;</b> stays escaped once by ftfy", "日本語 русский 😀 stay", "&nbsp;&nbsp;hard&nbsp;spaces&nbsp;",
    "&ampfoo; &amplt; &unknown; & alone &; &#; &#x;",
]


def corpus():
    random.seed(3)
    lines = []
    for _ in range(4000):
        words = random.choice([WORDS["en"]] * 4 + list(WORDS.values())).split()
        lines.append(" ".join(random.choice(words) for _ in range(random.randint(3, 14))))
    return lines


def train(path):
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(corpus()), model_writer=out, vocab_size=540, model_type="unigram",
        byte_fallback=True, pad_id=0, eos_id=1, unk_id=2, bos_id=-1, character_coverage=0.9999,
        normalization_rule_name="nmt_nfkc", user_defined_symbols=["<extra_id_0>"], num_threads=1,
        minloglevel=2)
    path.write_bytes(out.getvalue())


def convert(proto, byte_fallback):
    vocab = [(p.piece, p.score) for p in proto.pieces]
    tokenizer = Tokenizer(Unigram(vocab, unk_id=2, byte_fallback=byte_fallback))
    if byte_fallback:
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")])
    else:
        tokenizer.normalizer = normalizers.Sequence([
            normalizers.Precompiled(proto.normalizer_spec.precompiled_charsmap),
            normalizers.Strip(left=False, right=True), normalizers.Replace(Regex(" {2,}"), "▁")])
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    tokenizer.add_special_tokens([AddedToken(t, normalized=False, special=True)
                                  for t in ("<pad>", "</s>", "<unk>", "<extra_id_0>", "<extra_id_1>")])
    tokenizer.post_processor = processors.TemplateProcessing(single=["$A", "</s>"], pair=["$A", "</s>", "$B", "</s>"],
                                                             special_tokens=[("</s>", 1)])
    return tokenizer


def clean(text):
    """Wan's "whitespace" cleaning."""
    text = html.unescape(html.unescape(ftfy.fix_text(text))).strip()
    return re.sub(r"\s+", " ", text).strip()


def main():
    train(FOLDER / "spiece.model")
    processor = sentencepiece.SentencePieceProcessor(model_file=str(FOLDER / "spiece.model"))
    proto = pb.ModelProto()
    proto.ParseFromString((FOLDER / "spiece.model").read_bytes())
    expected = {"texts": TEXTS, "spiece.model": [processor.encode(t) + [1] for t in TEXTS]}
    for name, byte_fallback in (("tokenizer.json", False), ("tokenizer_bytes.json", True)):
        tokenizer = convert(proto, byte_fallback)
        tokenizer.save(str(FOLDER / name), pretty=False)
        expected[name] = [tokenizer.encode(t).ids for t in TEXTS]
    expected["prompts"] = PROMPTS
    expected["cleaned"] = [clean(p) for p in PROMPTS]
    (FOLDER / "expected.json").write_text(json.dumps(expected, ensure_ascii=True, indent=0) + "\n")


main()
