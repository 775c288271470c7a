interface TemplateValues {
  readonly name: string
  readonly provider: string
  /** Version specifier of the hub's package for npm. */
  readonly agenthub: string
}

/** Returns the files of a new plugin, by name. */
export const templateFiles = (about: TemplateValues): Readonly<Record<string, string>> => ({
  'package.json': json(packageOf(about)),
  'tsconfig.json': json(TSCONFIG),
  'index.ts': serviceOf(about),
  'index.test.ts': testOf(about),
  'README.md': readmeOf(about),
  '.gitignore': 'node_modules/\ndist/\n',
})

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`

const packageOf = ({ name, agenthub }: TemplateValues) => ({
  name,
  version: '0.1.0',
  type: 'module',
  exports: './dist/index.js',
  files: ['dist'],
  agenthub: { apiVersion: 1, isolation: 'worker', needs: [] },
  scripts: {
    test: 'node --test *.test.ts',
    check: 'tsc --noEmit',
    build: 'tsc',
    prepack: 'npm run build',
  },
  // npm scripts and npx run this Node, because an older one cannot run TypeScript.
  devDependencies: { agenthub, '@types/node': '^24.0.0', node: '^24.0.0', typescript: '>=5.9' },
  allowScripts: { node: true }, // npm asks for each dependency with an install script
})

/** TypeScript settings; `preserveSymlinks` treats a linked hub as a package. */
const TSCONFIG = {
  compilerOptions: {
    target: 'es2024',
    module: 'nodenext',
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    erasableSyntaxOnly: true,
    verbatimModuleSyntax: true,
    rewriteRelativeImportExtensions: true,
    skipLibCheck: true,
    preserveSymlinks: true,
    types: ['node'],
    rootDir: '.',
    outDir: 'dist',
  },
  include: ['*.ts'],
  exclude: ['*.test.ts', 'dist'],
}

const serviceOf = ({ name, provider }: TemplateValues): string => `\
import { defineService, Refusal, s, usd } from 'agenthub/plugin'

export default defineService({
  slug: '${name}',
  name: '${titleOf(name)}',
  category: 'data',
  summary: 'Counts the words of a text.',
  provider: '${provider}',
  endpoints: {
    'POST /count': {
      summary: 'Counts words, and distinct words.',
      price: usd('0.0005'),
      input: s.object({ text: s.string({ maxBytes: 51_200, examples: ['to be or not to be'] }) }),
      output: s.object({ words: s.integer(), different: s.integer() }),
      handle: ({ input }) => {
        const words = input.text.toLowerCase().match(/[\\p{L}\\p{N}]+/gu) ?? []
        // Errors are refunded; a Refusal tells the caller what to change.
        if (words.length === 0) throw new Refusal('no_words', 'Send a text that has words.')
        return { words: words.length, different: new Set(words).size }
      },
    },
  },
})
`

const testOf = ({ name }: TemplateValues): string => `\
import { deepEqual, equal } from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { HubError } from 'agenthub/client'
import { type Sandbox, startSandbox } from 'agenthub/testing'

// A hub of your own, with test money. HUB_HOME: a clone of it, where the package is not in one.
let sandbox: Sandbox
before(async () => {
  const plugin = new URL('./index.ts', import.meta.url)
  // As an operator runs it: isolated, with what it needs. A secret is read from \`env\`.
  const { agenthub } = JSON.parse(await readFile('package.json', 'utf8'))
  const runs = [agenthub.isolation, ...agenthub.needs].join('+')
  sandbox = await startSandbox({ plugin, runs, home: process.env['HUB_HOME'] })
})
after(() => sandbox?.stop())

test('charges a call', async () => {
  const text = 'To be, or not to be'
  const { body, charged } = await sandbox.client.call('${name}', '/count', { text })
  deepEqual(body, { words: 6, different: 4 })
  equal(charged, 500n) // microdollars
})

test('does not charge a refused call', async () => {
  const { body: before } = await sandbox.client.balance()
  const refused = sandbox.client.call('${name}', '/count', { text: '?!' })
  const error = await refused.catch((thrown: unknown) => thrown)
  equal(error instanceof HubError && error.body['reason'], 'no_words')
  const { body: later } = await sandbox.client.balance()
  equal(later['balance_microdollars'], before['balance_microdollars'])
})
`

const readmeOf = ({ name }: TemplateValues): string => `\
# ${titleOf(name)}

A service for AgentHub: \`index.ts\` declares what it sells, and for how much.

\`\`\`sh
npm install
npm test                # a paid call, in a sandbox with test money
npx hub plugin test     # the conformance suite
npm run check           # types
npm publish             # compiles it; an operator then adds it by name
\`\`\`

The types of \`agenthub/plugin\` document the API; the hub's \`plugins/README.md\` is a guide. An
operator sells the service with \`HUB_PLUGINS=${name}\`, and injects into an isolated plugin what
\`needs\` in package.json lists, such as \`"http"\` or
\`"secret:${name.toUpperCase().replaceAll('-', '_')}_KEY"\`.
`

const titleOf = (name: string): string =>
  name[0]!.toUpperCase() + name.slice(1).replaceAll('-', ' ')
