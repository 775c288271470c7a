/** Repository files by path; tests plant violations by adding files. */
export type Tree = ReadonlyMap<string, string>

/** Rule that returns one sentence per violation: location, problem, and remedy. */
export type Rule = (tree: Tree) => string[]

/** Three views of a file's text with equal length and lines; omitted parts are blank. */
export interface SourceText {
  readonly whole: string
  /** Code without comments, with empty strings. */
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
/** Template text up to its end or to the brace of an expression. */
const TEMPLATE = /(?:[^`\\$]|\\[\s\S]|\$(?!\{))*(`|\$\{)/y
/** After one of these a slash starts a regular expression; otherwise it divides. */
const BEFORE_REGEXP = /(?:^|[(,=:[!&|?{};+\-*%<>~^]|\b(?:return|typeof|case|in|of|await|yield))\s*$/

/** Separates TypeScript's code, comments and literals, as far as the architecture rules need it. */
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

/** Lists the regular expression literals of a file. */
export const regExpsOf = (text: string): readonly { source: string; flags: string }[] =>
  [...piecesOf(text)].flatMap(({ kind, from, to }) => {
    if (kind !== 'literal' || text[from] !== '/') return []
    const end = text.lastIndexOf('/', to - 1)
    return [{ source: text.slice(from + 1, end), flags: text.slice(end + 1, to) }]
  })

/** Lists the string literals of a file; an expression in a template is a blank. */
export function stringsOf(text: string): readonly string[] {
  const strings: string[] = []
  const open: string[] = []
  for (const { kind, from, to } of piecesOf(text)) {
    if (kind !== 'literal' || text[from] === '/') continue
    const part = text.slice(from, to)
    const before = part.startsWith('}') ? (open.pop() ?? '') : ''
    const content = before + part.slice(1).replace(/(?:\$\{|['"`])$/, ' ')
    if (part.endsWith('${')) open.push(content)
    else strings.push(content)
  }
  return strings
}

/** Keeps the quotes, so that imports remain visible. */
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
