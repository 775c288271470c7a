import { type Rule, sourceOf, type Tree } from './source-text.ts'

/** Rules about words, from the glossary in core/README.md. architecture.ts lists them. */

/** First words that make a doc comment a relative clause instead of a statement. */
const BANNED_OPENING =
  /\/\*\*[\s*]*(Whatever|What|Whoever|Whose|Whom|Who|Whether|Of|How|So|Wherever|Where)\b/g

/** Words of the glossary's right column that mean nothing else here, by their replacement. */
const BANNED_WORDS: Readonly<Record<string, string>> = {
  house: 'platform',
  door: 'entry point',
  doors: 'entry points',
  seat: 'runtime',
  seated: 'runtime',
  goods: 'catalog',
  sparing: 'singleFlight',
  patience: 'timeout',
  presumed: 'unprivileged',
  whoever: 'the subject',
}

/** Documents that are not in the repository. */
const FOREIGN_DOCUMENT =
  /\b(?:specification|design|spec) ?(?:,? ?§|\.md|\.txt)|\bsecurity\.md\b|shared\/reference/

const CASE_ID = /\bA[0-9]{3}\b/g
const CASE_LIST = '.github/THREAT-MODEL.md'

const isText = (path: string): boolean =>
  /^(core|plugins|server|jobs|test)\/.*\.ts$/.test(path) && !path.includes('/data/')

const lineAt = (text: string, index: number): number => text.slice(0, index).split('\n').length

/** Applies a check to each TypeScript file, except the architecture test with its plants. */
const perFile =
  (check: (path: string, text: string, tree: Tree) => readonly string[]): Rule =>
  (tree) =>
    [...tree].flatMap(([path, text]) =>
      isText(path) && path !== 'test/architecture.test.ts' ? check(path, text, tree) : [],
    )

export const docComments: Rule = perFile((path, text) =>
  [...text.matchAll(BANNED_OPENING)].map(
    ({ index, 1: word }) =>
      `${path}:${lineAt(text, index)} opens a doc comment with "${word}": say what it is or does`,
  ),
)

export const glossary: Rule = perFile((path, text) => {
  if (path === 'test/support/language.ts') return []
  const { code, comments } = sourceOf(text)
  return [code, comments].flatMap((view) =>
    view.split('\n').flatMap((line, i) => {
      const words =
        line
          .replace(/([a-z\d])(?=[A-Z])/g, '$1 ')
          .toLowerCase()
          .match(/[a-z]+/g) ?? []
      return [...new Set(words)].flatMap((word) =>
        Object.hasOwn(BANNED_WORDS, word)
          ? [`${path}:${i + 1} says "${word}": say ${BANNED_WORDS[word]} (core/README.md)`]
          : [],
      )
    }),
  )
})

export const citations: Rule = perFile((path, text, tree) => {
  const known = tree.get(CASE_LIST) ?? ''
  return text.split('\n').flatMap((line, i) => {
    const at = `${path}:${i + 1}`
    const foreign = FOREIGN_DOCUMENT.exec(line)
    const unknown = [...line.matchAll(CASE_ID)].filter(([id]) => !known.includes(`| ${id} |`))
    return [
      ...(foreign ? [`${at} cites "${foreign[0]}": state the rule here`] : []),
      ...unknown.map(([id]) => `${at} names case ${id}: add it to ${CASE_LIST}`),
    ]
  })
})
