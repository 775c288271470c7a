import { expect } from 'chai'
import { migrate } from '../../../core/db/migrate.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'
import { migrationsBefore } from './migrations-before.ts'

const WALLET = `0x${'ab'.repeat(20)}`
const PRINCIPALS = { mail: 'prn_mail000000000000', wallet: 'prn_wallet0000000000' } as const

describe('the upgrade to acts of two people', () => {
  let database: FreshDatabase
  before(async () => {
    database = await freshDatabase(undefined, { empty: true })
    await using folder = await migrationsBefore('0037')
    await migrate(database.url, { folder: folder.path })
  })
  after(() => database.drop())

  it('keeps acts, also of one person with two identities, roles, and removed links', async () => {
    const { admin } = database
    const { mail, wallet } = PRINCIPALS
    await admin.query(
      `INSERT INTO hub.principal (id, wallet_address, shard) VALUES ($1, NULL, 0), ($2, $3, 0)`,
      [mail, wallet, WALLET],
    )
    await admin.query(`INSERT INTO hub.person (principal, email) VALUES ($1, 'ann@x.example')`, [
      mail,
    ])
    await admin.query(
      `INSERT INTO hub.challenge
         (nonce, message, wallet_address, expires_at, used_at, purpose, terms)
       VALUES ('0123456789abcdefgh', 'm', $1, now(), now(), 'link',
         jsonb_build_object('person', $2::text))`,
      [WALLET, mail],
    )
    await admin.query(
      `INSERT INTO hub.role (principal, role, granted_by) VALUES ($1, 'admin', $3),
         ($2, 'finance', 'ann@x.example')`,
      [mail, wallet, WALLET],
    )
    await admin.query(
      `UPDATE hub.role SET revoked_by = 'x', revoked_at = now() WHERE role = 'finance'`,
    )
    await admin.query(
      `INSERT INTO hub.adjustment
         (id, debit, credit, amount, value_date, reason, proposed_by, proposer)
       VALUES (gen_random_uuid(), 'expenses:free-tier', 'equity:opening', 7, '2026-11-01Z', 'why',
         'ann@x.example', $1)`,
      [mail],
    )
    await admin.query(
      `INSERT INTO hub.adjustment (id, debit, credit, amount, reason, proposed_by, proposer, state,
         decided_by, decider, decided_at, note)
       VALUES (gen_random_uuid(), 'expenses:free-tier', 'equity:opening', 8, 'why',
         'ann@x.example', $1, 'booked', $2, $3, now(), 'fine')`,
      [mail, WALLET, wallet],
    )
    await migrate(database.url)
    const acts = await admin.query(
      'SELECT kind, terms, accounts, exposure, state, person FROM hub.staff_act ORDER BY exposure',
    )
    expect(acts.rows).to.have.length(2)
    expect(acts.rows[0]).to.deep.include({
      kind: 'adjustment',
      accounts: ['expenses:free-tier', 'equity:opening'],
      exposure: 7n,
      state: 'proposed',
      person: [mail, wallet],
    })
    expect(acts.rows[1]).to.include({ exposure: 8n, state: 'booked' })
    expect(acts.rows[0].terms).to.include({ amount: '7', asset: 'USDC' })
    expect(new Date(acts.rows[0].terms.valueDate).toISOString()).to.equal(
      '2026-11-01T00:00:00.000Z',
    )
    const roles = await admin.query(
      `SELECT role, granter, by_configured, effective_at = granted_at AS same FROM hub.role
       ORDER BY id`,
    )
    expect(roles.rows).to.deep.equal([
      { role: 'admin', granter: wallet, by_configured: true, same: true },
      { role: 'finance', granter: mail, by_configured: false, same: true },
    ])
  })
})
