import { expect } from 'chai'
import * as fc from 'fast-check'
import { createPool } from '../../../core/db/pool.ts'
import { Fault } from '../../../core/errors.ts'
import { KeyRing } from '../../../core/identity/keys.ts'
import { generateKey, hashKey, keyPrefix } from '../../../core/identity/secret.ts'
import { base62 } from '../../../core/ids.ts'
import { freePort } from '../../../core/runtime/net.ts'

const outcomeOf = (work: Promise<unknown>): Promise<unknown> =>
  work.catch((error: unknown) => error)

const codeOf = async (work: Promise<unknown>): Promise<string> => {
  const outcome = await outcomeOf(work)
  return outcome instanceof Fault ? outcome.code : String(outcome)
}

describe('an API key', () => {
  it('is ahk_ and 49 letters and digits, each time another one', () => {
    const keys = Array.from({ length: 1_000 }, generateKey)
    for (const key of keys) expect(key).to.match(/^ahk_[0-9A-Za-z]{49}$/)
    expect(new Set(keys)).to.have.property('size', keys.length)
  })

  it('shows a prefix that tells it from others and opens nothing', () => {
    const key = generateKey()
    expect(keyPrefix(key)).to.equal(key.slice(0, 12))
  })

  it('is found by a digest from which it cannot be read', () => {
    const key = generateKey()
    expect(hashKey(key)).to.have.length(32)
    expect(hashKey(key)).to.deep.equal(hashKey(key))
    expect(hashKey(key)).not.to.deep.equal(hashKey(generateKey()))
  })
})

/** A ring whose database does not exist: whatever asks it fails in another way than by a fault. */
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

  it('reach the database only when the checksum is right', async () => {
    const outcome = await outcomeOf(ring.authenticate(`Bearer ${generateKey()}`))
    expect(outcome).to.be.an('error').and.not.to.be.instanceOf(Fault)
  })

  it('are refused by the checksum, one wrong character or two neighbours swapped', async () => {
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
    it(`are answered as RFC 6750 asks: ${header.replace(key, 'KEY') || 'nothing'}`, async () => {
      const outcome = (await outcomeOf(ring.authenticate(header))) as Fault
      expect(outcome).to.be.instanceOf(Fault).and.include({ code: 'invalid_api_key', status: 401 })
      expect(outcome.headers['WWW-Authenticate']).to.match(/^Bearer realm="hub"/)
      expect(JSON.stringify([outcome.message, outcome.extras])).not.to.include(key.slice(12))
    })
  }
})
