/** The repository as the checks see it: path → text. Tests plant violations by adding files. */
export type Tree = ReadonlyMap<string, string>

/** A sentence for each violation: where it is, what is wrong, and what to do instead. */
export type Rule = (tree: Tree) => string[]

/** A file's text in three views of the same length and lines; what a view leaves out is blank. */
export interface SourceText {
  readonly whole: string
  /** Without comments, and with empty strings: what runs. */
  readonly code: string
  readonly comments: string
}

interface Piece {
  readonly kind: 'code' | 'comment' | 'literal'
  readonly from: number
  readonly to: number
}

const COMMENT = /\/\/[^\n]*|\/\*[\s\S]*?\*\//y
const QUOTED = /'(?:[^'\\\n]|\\[\s\S])*'|"(?:[^"\\\n]|\\[\s\S])*"/y
const REGEXP = /\/(?![*/])(?:[^\\/[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/y
/** Template text: up to its end, or to the brace that opens an expression in it. */
const TEMPLATE = /(?:[^`\\$]|\\[\s\S]|\$(?!\{))*(`|\$\{)/y
/** A slash after one of these begins a regular expression; after anything else it divides. */
const BEFORE_REGEXP = /(?:^|[(,=:[!&|?{};+\-*%<>~^]|\b(?:return|typeof|case|in|of|await|yield))\s*$/

/** Tells TypeScript's code, comments and literals apart, as far as checks of a house need it. */
export function sourceOf(whole: string): SourceText {
  const pieces = [...piecesOf(whole)]
  const view = (kind: Piece['kind']): string => {
    let text = ''
    for (const { kind: own, from, to } of pieces) {
      const part = whole.slice(from, to)
      if (own === kind) text += part
      else if (own === 'literal' && kind === 'code') text += emptied(part)
      else text += blank(part)
    }
    return text
  }
  return { whole, code: view('code'), comments: view('comment') }
}

/** The quotes stay, so that an import is still seen to name something. */
const emptied = (literal: string): string =>
  literal.length < 2 ? literal : literal[0] + blank(literal.slice(1, -1)) + literal.at(-1)

const blank = (text: string): string => text.replaceAll(/[^\n]/g, ' ')

function* piecesOf(text: string): Generator<Piece> {
  const templates: number[] = []
  let depth = 0
  let at = 0
  let code = 0
  const tail = (): string => text.slice(Math.max(code, at - 40), at)
  while (at < text.length) {
    const char = text[at]
    let literal: Piece | undefined
    if (char === '/') {
      literal = match(COMMENT, 'comment', text, at)
      if (!literal && BEFORE_REGEXP.test(tail())) literal = match(REGEXP, 'literal', text, at)
    } else if (char === "'" || char === '"') literal = match(QUOTED, 'literal', text, at)
    else if (char === '{') depth++
    else if (char === '}') depth--
    const resumes = char === '}' && templates.at(-1) === depth
    if (char === '`' || resumes) {
      if (resumes) templates.pop()
      literal = match(TEMPLATE, 'literal', text, at, 1)
      if (literal && text[literal.to - 1] === '{') templates.push(depth++)
    }
    if (!literal) {
      at++
      continue
    }
    yield { kind: 'code', from: code, to: at }
    yield literal
    at = literal.to
    code = at
  }
  yield { kind: 'code', from: code, to: at }
}

function match(
  pattern: RegExp,
  kind: Piece['kind'],
  text: string,
  from: number,
  skip = 0,
): Piece | undefined {
  pattern.lastIndex = from + skip
  return pattern.test(text) ? { kind, from, to: pattern.lastIndex } : undefined
}
