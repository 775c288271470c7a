import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { RULES } from './support/architecture.ts'
import { INNOCENT } from './support/innocent-code.ts'
import { PLANTED_COUPLINGS } from './support/planted-couplings.ts'
import { PLANTED_PATTERNS } from './support/planted-patterns.ts'
import type { Tree } from './support/source-text.ts'

const ROOT = join(import.meta.dirname, '..')

/** Repository files, tracked or untracked, without ignored ones. */
function tree(): Tree {
  const list = execFileSync(
    'git',
    '-c safe.directory=* ls-files --cached --others --exclude-standard'.split(' '),
    { cwd: ROOT, encoding: 'utf8' },
  )
  const paths = list.split('\n').filter((path) => path !== '' && existsSync(join(ROOT, path)))
  return new Map(paths.map((path) => [path, readFileSync(join(ROOT, path), 'utf8')]))
}

/** One planted violation: the files it takes, and what the rule must say. */
type Planted = readonly [Readonly<Record<string, string>>, RegExp]

const long = `const a = '${'a'.repeat(100)}'\n`
const comment = (text: string): string => `// ${text}\n`
const main = (text: string): Planted[0] => ({ 'server/program.ts': text })

const PLANTED: Readonly<Record<keyof typeof RULES, Readonly<Record<string, Planted>>>> = {
  'every import stays within its layer': {
    'core on an entry point': [
      { 'core/a.ts': "import { b } from '../server/b.ts'\n" },
      /core\/a\.ts may not import server\/b\.ts: .*take what is needed as a parameter/,
    ],
    'core on a plugin, by type only': [
      { 'core/a.ts': "import type { B } from '../plugins/b/index.ts'\n" },
      /core\/a\.ts may not import plugins\/b\/index\.ts/,
    ],
    'a plugin on core': [
      { 'plugins/x/a.ts': "import { usd } from '../../core/money.ts'\n" },
      /plugins\/x\/a\.ts may not import core\/money\.ts: import 'agenthub\/plugin'/,
    ],
    'a plugin on its neighbour': [
      { 'plugins/x/a.ts': "export * from '../xy/index.ts'\n" },
      /plugins\/x\/a\.ts may not import plugins\/xy\/index\.ts/,
    ],
    'a plugin on the client, by its public name': [
      { 'plugins/x/a.ts': "import { hub } from 'agenthub/client'\n" },
      /plugins\/x\/a\.ts may not import core\/client\/index\.ts/,
    ],
    'the list of plugins on the inside of one': [
      { 'plugins/index.ts': "import { a } from './x/inside.ts'\n" },
      /plugins\/index\.ts may not import plugins\/x\/inside\.ts: .*index\.ts/,
    ],
    'a job on an entry point, at run time': [
      { 'jobs/a.ts': "const b = await import('../server/b.ts')\n" },
      /jobs\/a\.ts may not import server\/b\.ts: share it through core/,
    ],
    'a job on a plugin, as a worker': [
      { 'jobs/a.ts': "new Worker(new URL('../plugins/x/w.ts', import.meta.url))\n" },
      /jobs\/a\.ts may not import plugins\/x\/w\.ts/,
    ],
    'an entry point on a job': [
      { 'server/rest/a.ts': "import { jobs } from '../../jobs/index.ts'\n" },
      /server\/rest\/a\.ts may not import jobs\/index\.ts: only server\/program\.ts/,
    ],
    'the composition root on the inside of a plugin': [
      main("import { a } from '../plugins/x/a.ts'\n"),
      /server\/program\.ts may not import plugins\/x\/a\.ts: .*index\.ts/,
    ],
    'the command line on the ledger': [
      { 'server/cli/a.ts': "import '../../core/ledger/ledger.ts'\n" },
      /server\/cli\/a\.ts may not import core\/ledger\/ledger\.ts: .*use core\/client/,
    ],
    'the verifier of proofs on the hub': [
      { 'core/client/proofs/a.ts': "import { b } from '../../crypto/merkle.ts'\n" },
      /proofs\/a\.ts may not import core\/crypto\/merkle\.ts: .*no code of the hub/,
    ],
    'the command line on another entry point': [
      { 'server/cli/a.ts': "import {\n  b,\n} from '../body.ts'\n" },
      /server\/cli\/a\.ts may not import server\/body\.ts/,
    ],
    'a test on something outside': [
      { 'test/a.ts': "new URL('../../elsewhere/data/', import.meta.url)\n" },
      /test\/a\.ts may not import \.\.\/elsewhere\/data\/: .*inside the repository/,
    ],
  },
  'core is layered: no folder imports one above it': {
    'the ledger on payments': [
      { 'core/ledger/a.ts': "import { b } from '../payments/b.ts'\n" },
      /core\/ledger\/a\.ts may not import core\/payments\/b\.ts: core\/payments is not below/,
    ],
    'a type of a folder above': [
      { 'core/identity/a.ts': "import type { B } from '../catalog/b.ts'\n" },
      /core\/identity\/a\.ts may not import core\/catalog\/b\.ts/,
    ],
    'two folders of one layer': [
      { 'core/usage/a.ts': "import { b } from '../audit/b.ts'\n" },
      /core\/usage\/a\.ts may not import core\/audit\/b\.ts/,
    ],
    'the configuration from below': [
      { 'core/ledger/a.ts': "import { b } from '../config.ts'\n" },
      /core\/ledger\/a\.ts may not import core\/config\.ts/,
    ],
    'a folder without a layer': [
      { 'core/new/a.ts': '' },
      /core\/new has no layer: add it to CORE_LAYERS/,
    ],
  },
  'what is banned has a place or a replacement': {
    'the time': [
      { 'core/a.ts': 'const a = new Date(0)\nconst b = new Date()\n' },
      /core\/a\.ts:2 has the system time: take a Clock/,
    ],
    'the time as a number': [
      { 'plugins/x/a.ts': 'const a = Date.now()\n' },
      /plugins\/x\/a\.ts:1 has the system time/,
    ],
    'the timer': [
      { 'core/a.ts': 'const a = performance.now()\n' },
      /core\/a\.ts:1 has the system timer: use elapsedMs/,
    ],
    'floats near money': [
      { 'core/ledger/a.ts': 'const a = Number.parseFloat(text).toFixed(2)\n' },
      /core\/ledger\/a\.ts:1 has a float: use core\/money\.ts/,
    ],
    'a note to oneself': [
      { 'test/a.ts': comment('TODO later') },
      /test\/a\.ts:1 has unfinished work: finish it/,
    ],
    'a note to oneself in SQL': [
      { 'core/db/migrations/0001_a.sql': '-- FIXME later\n' },
      /0001_a\.sql:1 has unfinished work/,
    ],
    'a silenced length limit': [
      { 'core/a.ts': comment('oxlint-disable-next-line max-lines-per-function') },
      /core\/a\.ts:1 has a silenced length limit: split the function/,
    ],
  },
  'files fit a screen and a head': {
    'a long line': [{ 'core/a.ts': long }, /core\/a\.ts:1 has 112 columns: break it at 100/],
    'a long line of SQL': [
      { 'core/db/migrations/0001_a.sql': `-- ${'a'.repeat(108)}\n` },
      /0001_a\.sql:1 has 111 columns: break it at 110/,
    ],
    'a long file': [{ 'jobs/a.ts': '\n'.repeat(301) }, /jobs\/a\.ts has 301 lines: split it/],
  },
  'functions have a limit': {
    'a missing rule': [{ '.oxlintrc.json': '{}' }, /\.oxlintrc\.json must demand "max-lines/],
    'a lifted rule': [
      {
        '.oxlintrc.json': JSON.stringify({
          rules: { 'max-lines-per-function': ['error', { max: 60 }] },
          overrides: [{ files: ['core/**'], rules: { 'max-lines-per-function': 'off' } }],
        }),
      },
      /\.oxlintrc\.json may not lift max-lines-per-function for core\/\*\*: split/,
    ],
  },
  'nothing lies around that nobody reaches': {
    'a file that nothing imports': [
      { 'core/a.ts': 'export const a = 1\n' },
      /core\/a\.ts is reached by nothing: import it where it is needed, or delete it/,
    ],
    'a file that only an unreached file imports': [
      { 'core/a.ts': "import './b.ts'\n", 'core/b.ts': '' },
      /core\/b\.ts is reached by nothing/,
    ],
    'a file for tests among the parts of the hub': [
      { 'core/a.ts': '', 'test/a.test.ts': "import '../core/a.ts'\n" },
      /core\/a\.ts is reached by tests alone: use it, move it to test\//,
    ],
    'a helper of no test': [
      { 'test/support/a.ts': '' },
      /test\/support\/a\.ts is reached by nothing/,
    ],
  },
  'the top level is the list of the design': {
    'a new folder': [{ 'lib/a.ts': '' }, /lib may not be at the top level: put it into one/],
    'a lost file': [{}, /LICENSE is missing at the top level/],
  },
  'each folder explains itself': {
    'a folder without a page': [{ 'jobs/a.ts': '' }, /jobs\/README\.md is missing: explain/],
  },
  'the ledger can be distributed by shard': PLANTED_COUPLINGS,
  'patterns take linear time': PLANTED_PATTERNS,
  'doc comments say what a thing is or does': {
    'a comment that opens with a relative clause': [
      { 'core/a.ts': '/** What nobody has claimed. */\nexport const a = 1\n' },
      /core\/a\.ts:1 opens a doc comment with "What": say what it is or does/,
    ],
    'the same over several lines': [
      { 'server/a.ts': 'const b = 1\n/**\n * Whether it is so.\n */\nconst a = 1\n' },
      /server\/a\.ts:2 opens a doc comment with "Whether"/,
    ],
  },
  'names and comments keep to the glossary': {
    'a banned word in a name': [
      { 'core/a.ts': 'export const walletsOfHouse = 1\n' },
      /core\/a\.ts:1 says "house": say platform/,
    ],
    'a banned word in a comment': [
      { 'core/a.ts': comment('Opens the doors.') },
      /core\/a\.ts:1 says "doors": say entry points/,
    ],
  },
  'citations name documents of this repository': {
    'a section of a document elsewhere': [
      { 'core/a.ts': comment('See specification §5.3.') },
      /core\/a\.ts:1 cites "specification §": state the rule here/,
    ],
    'a case that is not listed': [
      { 'test/a.test.ts': "it('A999 is refused', () => {})\n" },
      /test\/a\.test\.ts:1 names case A999: add it to \.github\/THREAT-MODEL\.md/,
    ],
  },
  'migrations are numbered without gaps': {
    'a gap': [
      { 'core/db/migrations/0001_a.sql': '', 'core/db/migrations/0003_c.sql': '' },
      /0003_c\.sql breaks the order: the next migration is 0002_name\.sql/,
    ],
    'a number used twice': [
      { 'core/db/migrations/0001_a.sql': '', 'core/db/migrations/0001_b.sql': '' },
      /0001_b\.sql breaks the order/,
    ],
  },
}

describe('architecture', () => {
  const house = tree()
  const exports = house.get('package.json')!
  const names = Object.keys(RULES) as (keyof typeof RULES)[]

  for (const name of names) {
    it(name, () => expect(RULES[name](house).join('\n')).to.equal(''))
  }

  describe('is really checked: planted and reported', () => {
    for (const name of names) {
      for (const [what, [files, message]] of Object.entries(PLANTED[name])) {
        it(what, () => {
          const planted = new Map(Object.entries({ 'package.json': exports, ...files }))
          expect(RULES[name](planted).join('\n')).to.match(message)
        })
      }
    }
  })

  it('takes no offence at words in strings and comments, nor at what is allowed', () => {
    const innocent = new Map(Object.entries({ 'package.json': exports, ...INNOCENT }))
    const layers = RULES['every import stays within its layer'](innocent)
    const banned = RULES['what is banned has a place or a replacement'](innocent)
    expect([...layers, ...banned]).to.deep.equal([])
  })
})
