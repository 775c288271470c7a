import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { MUTATIONS } from '../conservation/mutants.ts'
import { Random } from '../conservation/random.ts'
import { realSockets } from '../core/egress/fixture.ts'
import { KINDS, kindOf } from './recovery/buyers.ts'
import { checkRecovery } from './recovery/checker.ts'
import type { RecoveryFacts } from './recovery/collect.ts'
import { type Evidence, PLANTED_VIOLATIONS } from './recovery/planted-violations.ts'
import { findSlowRecoveries, measureRecovery, printTable } from './recovery/recovery-times.ts'
import type { ClientLog } from './recovery/request-log.ts'
import { runRecovery } from './recovery/run.ts'
import { slownessOf } from './recovery/slowness.ts'

const SECONDS = Number(process.env['FAULTS_SECONDS'] ?? 600)
const SEED = process.env['RECOVERY_SEED'] ?? String(process.hrtime.bigint())

/** Status of a success besides 200, by kind of request. */
const SUCCESS: Readonly<Record<string, number>> = { 'top-up': 201, 'sign-in': 202 }

/**
 * Compares what clients from outside were told with journal, balances, API and chains. All rails
 * run at once: the conservation of money is one of the checks.
 */
describe(`${SECONDS} s of paid requests and failures of every part`, function () {
  this.timeout((SECONDS + 900) * 1_000)
  realSockets()
  let folder: string
  let log: ClientLog
  let facts: RecoveryFacts

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'agenthub-recovery-'))
    const path = process.env['RECOVERY_LOG'] ?? join(folder, 'requests.ndjson')
    process.stdout.write(`      seed ${SEED}, log ${path}\n`)
    ;({ log, facts } = await runRecovery({ seconds: SECONDS, random: new Random(SEED), path }))
  })
  after(() => rm(folder, { recursive: true, force: true }))

  it('leave no answer that contradicts journal, balances or chain', () => {
    process.stdout.write(`${printTable(measureRecovery(log))}\n`)
    process.stdout.write(`slowness of the machine: ${slownessOf(log).toFixed(1)}\n`)
    expect(checkRecovery(log, facts)).to.deep.equal([])
  })

  it('serve buyers of every kind', () => {
    const served = log.requests.filter(({ kind, attempts }) =>
      attempts.some(({ status = 0 }) => status === 200 || status === SUCCESS[kind]),
    )
    const own = served.filter(({ kind, client }) => kind !== 'top-up' || client.startsWith(kind))
    expect([...new Set(own.map(({ client }) => kindOf(client)))]).to.have.members(KINDS)
  })

  it('recover within their targets', () => {
    expect(findSlowRecoveries(measureRecovery(log), slownessOf(log))).to.deep.equal([])
  })

  describe('the checker reports a violation planted into the log or the facts of this run:', () => {
    const planted = {
      ...PLANTED_VIOLATIONS,
      ...Object.fromEntries(
        Object.entries(MUTATIONS).map(([title, { mutate, finds }]) => [
          title,
          {
            plant: (each: Evidence) => ({
              ...each,
              facts: { ...each.facts, ...mutate(each.facts) },
            }),
            finds,
          },
        ]),
      ),
    }
    for (const [title, { plant, finds }] of Object.entries(planted)) {
      it(title, () => {
        const changed = plant({ log, facts })
        const known = new Set(checkRecovery(log, facts))
        const found = checkRecovery(changed.log, changed.facts).filter((line) => !known.has(line))
        expect(found.join('\n')).to.match(finds)
      })
    }
  })
})
