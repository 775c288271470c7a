import type { Warning } from '../engine.ts'

/** Patterns of instructions to a model. Each is bounded and has no nested repetition. */
const SIGNS = [
  new RegExp(
    '\\b(?:ignore|disregard|forget|override|bypass)\\b.{0,40}' +
      '\\b(?:previous|prior|above|earlier|all|your|any|the)\\b.{0,40}' +
      '\\b(?:instruction|prompt|rule|direction|guideline|order|context)s?\\b',
    'iu',
  ),
  /\b(?:system|developer|hidden|initial)[ _-]?(?:prompt|message|instructions?)\b/iu,
  /\byou (?:are|must|will|shall) now\b|\bact as (?:an?|the|if)\b|\bpretend (?:to be|that you)\b/iu,
  /\b(?:new|updated|real|actual) (?:instructions?|task|rules?)\s{0,4}:/iu,
  /<\|(?:im_start|im_end|system|user|assistant|endoftext)\|?>|\[\/?INST\]|<<\/?SYS>>/u,
  /(?:^|\n)\s{0,8}(?:#{1,4} ?)?(?:system|assistant)\s{0,4}:/iu,
  /\b(?:respond|reply|answer|output|return|print|say)\b.{0,20}\b(?:only|exactly|nothing but)\b/iu,
] as const

/** Warns if a text appears to address the model; the text is analyzed anyway. */
export const injectionWarnings = (text: string): readonly Warning[] =>
  SIGNS.some((sign) => sign.test(text))
    ? [
        {
          code: 'possible_prompt_injection',
          message:
            'The text appears to contain instructions to the model. They were treated as data; ' +
            'check the result before you act on it.',
        },
      ]
    : []
