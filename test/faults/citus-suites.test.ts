import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect } from 'chai'
import { hasCitus, NO_CITUS } from '../support/citus.ts'
import { skip } from '../support/skip.ts'

const MOCHA = 'node_modules/mocha/bin/mocha.js'
const OPTIONS = ['--no-config', '--require', './test/support/setup.ts', '--timeout', '300000']

/** Tests of what reads, exports, refunds and pays out the entries of a ledger. */
const FILES = [
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

describe('on Citus', function () {
  this.timeout(1_800_000)

  it('payouts, exports, documents and histories pass their tests', async function () {
    if (!(await hasCitus())) skip(this, NO_CITUS)
    const env = { ...process.env, HUB_CLUSTER: 'citus' }
    const child = spawn(process.execPath, [MOCHA, ...OPTIONS, ...FILES], { env })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => (output += text))
    }
    const [code] = await once(child, 'exit')
    expect(code, output.slice(-10_000)).to.equal(0)
  })
})
