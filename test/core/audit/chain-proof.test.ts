import { expect } from 'chai'
import { AuditProof } from '../../../core/audit/chain-proof.ts'
import { operator, withAudit } from '../../../core/audit/record.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'

const DAY_MS = 86_400_000

describe('the verification of the audit log', () => {
  let database: FreshDatabase
  let proof: AuditProof
  let now: number

  beforeEach(async () => {
    database = await freshDatabase()
    now = Date.parse('2026-11-20T12:00:00Z')
    proof = new AuditProof(database.pool, { now: () => new Date(now) })
    await write(5)
  })
  afterEach(() => database.drop())

  const write = (count: number) =>
    withAudit(database.pool, operator('olga'), 'a test', async (_, note) => {
      for (let i = 0; i < count; i++) note({ act: 'key.freeze', subject: `key_${i}` })
    })
  /** Runs SQL that bypasses the protections of the database. */
  const tamper = async (...acts: readonly string[]) => {
    await database.admin.query('ALTER TABLE hub.audit DISABLE TRIGGER append_only')
    for (const act of acts) await database.admin.query(act)
    await database.admin.query('ALTER TABLE hub.audit ENABLE TRIGGER append_only')
  }
  const rewritten = (seq: number) => `UPDATE hub.audit SET reason = 'else' WHERE seq = ${seq}`
  const removed = (seq: number) => `DELETE FROM hub.audit WHERE seq >= ${seq}`

  it('continues from the last full proof and reports its time', async () => {
    const at = new Date(now)
    const { head } = await proof.verifyAll()
    now += 1_000
    await write(2)
    const chain = await proof.verifyRecent()
    expect(chain).to.deep.include({ lines: 7n, brokenAt: null, lastFull: { lines: 5n, head, at } })
    expect(chain.head).not.to.equal(head)
    expect((await proof.verifyAll()).lastFull).to.deep.equal({
      lines: 7n,
      head: chain.head,
      at: new Date(now),
    })
  })

  it('succeeds for an empty log', async () => {
    await tamper(removed(1))
    expect(await proof.verifyAll()).to.include({ lines: 0n, head: null, brokenAt: null })
  })

  it('reports the first changed line since the last full proof', async () => {
    await proof.verifyAll()
    await write(3)
    await tamper(rewritten(7), rewritten(8))
    expect(await proof.verifyRecent()).to.include({ brokenAt: 7n })
    expect(await proof.verifyRecent(), 'also later').to.include({ brokenAt: 7n })
  })

  it('reads older lines on demand and after a day', async () => {
    await proof.verifyAll()
    await tamper(rewritten(2))
    expect(await proof.verifyRecent(), 'is not read').to.include({ brokenAt: null })
    now += DAY_MS + 1
    expect(await proof.verifyRecent()).to.include({ brokenAt: 2n })
    now -= DAY_MS
    expect(await proof.verifyRecent(), 'until it is right again').to.include({ brokenAt: 2n })
    await tamper(`UPDATE hub.audit SET reason = 'a test' WHERE seq = 2`)
    expect(await proof.verifyRecent()).to.include({ brokenAt: null })
    await tamper(rewritten(2))
    expect(await proof.verifyAll()).to.include({ brokenAt: 2n })
  })

  it('detects removed newest lines, which break no hash', async () => {
    await proof.verifyAll()
    await tamper(removed(4))
    for (const read of ['verifyRecent', 'verifyAll', 'verifyRecent'] as const) {
      expect(await proof[read](), read).to.include({ brokenAt: 5n })
    }
  })

  it('detects a log rewritten with consistent hashes', async () => {
    await proof.verifyAll()
    await tamper(removed(1))
    await write(6)
    const other = new AuditProof(database.pool, { now: () => new Date(now) })
    expect(await other.verifyAll(), 'a process without a stored proof detects nothing').to.include({
      brokenAt: null,
    })
    expect(await proof.verifyRecent()).to.include({ brokenAt: 5n })
    expect(await proof.verifyAll()).to.include({ brokenAt: 5n })
  })
})
