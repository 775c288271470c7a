import { spawn } from 'node:child_process'
import { once } from 'node:events'
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

/** Stories that were run on a cluster; `HUB_CLUSTER=citus` runs any other in the same way. */
const STORIES = [
  'accounts',
  'attacks/changed-payee',
  'attacks/destinations',
  'attacks/facilitator',
  'attacks/offers',
  'attacks/paid-sellers',
  'attacks/two-people',
].map((name) => `test/stories/${name}.test.ts`)

describe('on Citus', function () {
  this.timeout(1_800_000)

  before(async function () {
    if (!(await hasCitus())) skip(this, NO_CITUS)
  })

  it('payouts, exports, documents and histories pass their tests', () => runOnCitus(LEDGER))

  it('stories of accounts and of attacks pass', () => runOnCitus(STORIES))
})

async function runOnCitus(files: readonly string[]): Promise<void> {
  const env = { ...process.env, HUB_CLUSTER: 'citus' }
  const child = spawn(process.execPath, [MOCHA, ...OPTIONS, ...files], { env })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (output += text))
  }
  const [code] = await once(child, 'exit')
  expect(code, output.slice(-10_000)).to.equal(0)
}
