import { expect } from 'chai'
import * as fc from 'fast-check'
import { createPool } from '../../../core/db/pool.ts'
import { Fault } from '../../../core/errors.ts'
import { KeyRing } from '../../../core/identity/keys.ts'
import { createMainKey, findOrCreatePrincipal } from '../../../core/identity/main-keys.ts'
import { generateKey, hashKey, keyPrefix } from '../../../core/identity/secret.ts'
import { base62 } from '../../../core/ids.ts'
import { Ledger } from '../../../core/ledger/ledger.ts'
import { freePort } from '../../../core/runtime/net.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'

const outcomeOf = (work: Promise<unknown>): Promise<unknown> =>
  work.catch((error: unknown) => error)

const codeOf = async (work: Promise<unknown>): Promise<string> => {
  const outcome = await outcomeOf(work)
  return outcome instanceof Fault ? outcome.code : String(outcome)
}

describe('an API key', () => {
  it('is ahk_ and 49 letters and digits, and unique', () => {
    const keys = Array.from({ length: 1_000 }, generateKey)
    for (const key of keys) expect(key).to.match(/^ahk_[0-9A-Za-z]{49}$/)
    expect(new Set(keys)).to.have.property('size', keys.length)
  })

  it('has a prefix that identifies it but does not authenticate', () => {
    const key = generateKey()
    expect(keyPrefix(key)).to.equal(key.slice(0, 12))
  })

  it('is looked up by a hash that does not reveal it', () => {
    const key = generateKey()
    expect(hashKey(key)).to.have.length(32)
    expect(hashKey(key)).to.deep.equal(hashKey(key))
    expect(hashKey(key)).not.to.deep.equal(hashKey(generateKey()))
  })
})

/** KeyRing without a database: a query fails with an error that is not a Fault. */
describe('typing errors in a key', () => {
  let ring: KeyRing
  let end: () => Promise<void>
  before(async () => {
    const pool = createPool(`postgres://nobody@127.0.0.1:${await freePort()}/none`, {
      applicationName: 'keys',
    })
    ring = new KeyRing(pool)
    end = () => pool.end()
  })
  after(() => end())

  it('reach the database only if the checksum is valid', async () => {
    const outcome = await outcomeOf(ring.authenticate(`Bearer ${generateKey()}`))
    expect(outcome).to.be.an('error').and.not.to.be.instanceOf(Fault)
  })

  it('are rejected by the checksum: one wrong character, or two neighbors swapped', async () => {
    const letters = fc.integer({ min: 0, max: 61 }).map((digit) => base62(BigInt(digit), 1))
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 4, max: 52 }), letters, async (i, letter) => {
        const key = generateKey()
        const typos = [
          key.slice(0, i) + letter + key.slice(i + 1),
          key.slice(0, i) + (key[i + 1] ?? '') + key[i]! + key.slice(i + 2),
        ].filter((typo) => typo !== key)
        for (const typo of typos) {
          expect(await codeOf(ring.authenticate(`Bearer ${typo}`))).to.equal('invalid_api_key')
        }
      }),
    )
  })

  const key = generateKey()
  const malformed = ['', 'Bearer', 'Bearer ', key, `Basic ${key}`, `Bearer  ${key}`]
  malformed.push(`Bearer ${key} `, `Bearer ${key}a`, `Bearer ${key.slice(4)}`, `Bearer ${key},x`)
  for (const header of malformed) {
    it(`get a response as RFC 6750 requires: ${header.replace(key, 'KEY') || 'none'}`, async () => {
      const outcome = (await outcomeOf(ring.authenticate(header))) as Fault
      expect(outcome).to.be.instanceOf(Fault).and.include({ code: 'invalid_api_key', status: 401 })
      expect(outcome.headers['WWW-Authenticate']).to.match(/^Bearer realm="hub"/)
      expect(JSON.stringify([outcome.message, outcome.extras])).not.to.include(key.slice(12))
    })
  }
})

describe('a revoked key', () => {
  let database: FreshDatabase
  before(async () => {
    database = await freshDatabase()
  })
  after(() => database.drop())

  it('works for less than a second on a process that has cached it', async () => {
    const { pool } = database
    const principal = await findOrCreatePrincipal(
      pool,
      '0x00000000000000000000000000000000000000aa',
    )
    const { apiKey, keyId } = await createMainKey(pool, new Ledger(pool), principal)
    let now = 1
    const ring = new KeyRing(pool, { now: () => now })
    expect((await ring.authenticate(`Bearer ${apiKey}`)).keyId).to.equal(keyId)
    await pool.query('UPDATE hub.api_key SET revoked_at = now() WHERE id = $1', [keyId])
    now += 999
    expect((await ring.authenticate(`Bearer ${apiKey}`)).keyId, 'cached').to.equal(keyId)
    now += 2
    expect(await codeOf(ring.authenticate(`Bearer ${apiKey}`))).to.equal('revoked_api_key')
  })
})
