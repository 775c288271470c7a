import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync } from 'node:fs'
import { basename } from 'node:path'
import { expect } from 'chai'
import { hasCitus, NO_CITUS } from '../support/citus.ts'
import { skip } from '../support/skip.ts'

const MOCHA = 'node_modules/mocha/bin/mocha.js'
const OPTIONS = ['--no-config', '--require', './test/support/setup.ts', '--timeout', '300000']

/** Tests of what reads, exports, refunds and pays out the entries of a ledger. */
const LEDGER = [
  'test/core/finance/expire-credits.test.ts',
  'test/core/ledger/export/file.test.ts',
  'test/core/ledger/history/as-of.test.ts',
  'test/core/payments/payouts/payouts.test.ts',
  'test/core/payments/payouts/statement.test.ts',
  'test/server/rest/documents.test.ts',
  'test/server/rest/history.test.ts',
  'test/server/staff/ledger.test.ts',
  'test/server/staff/refunds.test.ts',
]

/** Stories that cannot run on a cluster. */
const EXCLUDED: readonly string[] = [
  'test/stories/attacks/database-outage.test.ts', // stops the coordinator; workers still charge
  'test/stories/replica.test.ts', // starts one server and its replica itself
]

/** Story files of one process. Each process distributes a ledger first, which takes a minute. */
const GROUP_FILES = 12
const STORIES = globSync('test/stories/**/*.test.ts', { exclude: EXCLUDED }).sort()

/** Maximum time of a process. */
const GROUP_MS = 1_800_000

describe('on Citus', function () {
  this.timeout(GROUP_MS + 60_000)

  before(async function () {
    if (!(await hasCitus())) skip(this, NO_CITUS)
  })

  it('payouts, exports, documents and histories pass their tests', () => runOnCitus(LEDGER))

  for (const files of groupsOf(STORIES, GROUP_FILES)) {
    const [first, last] = [files[0]!, files.at(-1)!].map((file) => basename(file, '.test.ts'))
    it(`all stories from ${first} to ${last} pass`, () => runOnCitus(files))
  }
})

function groupsOf<T>(all: readonly T[], size: number): readonly (readonly T[])[] {
  const count = Math.ceil(all.length / size)
  return Array.from({ length: count }, (_, i) => all.slice(i * size, (i + 1) * size))
}

async function runOnCitus(files: readonly string[]): Promise<void> {
  const env = { ...process.env, HUB_CLUSTER: 'citus' }
  const child = spawn(process.execPath, [MOCHA, ...OPTIONS, ...files], { env, timeout: GROUP_MS })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (output += text))
  }
  const [code] = await once(child, 'exit')
  expect(code, output.slice(-10_000)).to.equal(0)
}
