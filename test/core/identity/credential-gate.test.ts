import { expect } from 'chai'
import { createPool } from '../../../core/db/pool.ts'
import { Fault } from '../../../core/errors.ts'
import { CredentialGate } from '../../../core/identity/credential-gate.ts'
import {
  ATTEMPTS_MAX,
  ATTEMPTS_TOTAL_MAX,
  FailedAttempts,
} from '../../../core/identity/failed-attempts.ts'
import { KeyRing } from '../../../core/identity/keys.ts'
import { createMainKey, findOrCreatePrincipal } from '../../../core/identity/main-keys.ts'
import { generateKey, hashKey, keyPrefix } from '../../../core/identity/secret.ts'
import { Ledger } from '../../../core/ledger/ledger.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'

const outcomeOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'ok',
    (error: unknown) => (error instanceof Fault ? error.code : error),
  )

describe('unknown keys', () => {
  let database: FreshDatabase
  let now: number
  let queries: number
  let gate: CredentialGate
  let ring: KeyRing
  let end: () => Promise<void>
  before(async () => {
    database = await freshDatabase()
  })
  beforeEach(() => {
    now = 1
    queries = 0
    const counted = createPool(database.url, { role: 'hub_app' })
    const query = counted.query.bind(counted) as (...args: unknown[]) => unknown
    counted.query = ((...args: unknown[]) => {
      queries++
      return query(...args)
    }) as typeof counted.query
    const clock = () => now
    gate = new CredentialGate({
      attempts: new FailedAttempts(clock),
      pool: counted,
      kind: 'key',
      now: clock,
      batchMs: 20,
    })
    ring = new KeyRing(counted, { gate, now: clock })
    end = () => counted.end()
  })
  afterEach(() => end())
  after(() => database.drop())

  const attempt = (key: string, network = '192.0.2'): Promise<unknown> =>
    outcomeOf(ring.authenticate(`Bearer ${key}`, () => network))
  const attemptMany = (count: number): Promise<unknown[]> =>
    Promise.all(Array.from({ length: count }, () => attempt(generateKey())))
  const createKey = async (): Promise<string> => {
    const principal = await findOrCreatePrincipal(database.pool, `0x${'ab'.repeat(20)}`)
    return (await createMainKey(database.pool, new Ledger(database.pool), principal)).apiKey
  }
  /** Gives a key a secret that was guessed before. */
  const adopt = async (secret: string): Promise<void> => {
    const own = await createKey()
    await database.admin.query(
      `INSERT INTO hub.key_secret (hash, key, prefix)
       SELECT $1, key, $2 FROM hub.key_secret WHERE hash = $3`,
      [hashKey(secret), keyPrefix(secret), hashKey(own)],
    )
  }

  it('cost no query when repeated, while new keys are announced', async () => {
    gate.startCaching()
    const key = generateKey()
    for (let i = 0; i < 10; i++) expect(await attempt(key)).to.equal('invalid_api_key')
    expect(queries).to.equal(1)
    gate.stopCaching()
    await attempt(key)
    expect(queries, 'without announcements').to.equal(2)
  })

  it('are asked for again after a key was created', async () => {
    gate.startCaching()
    const secret = generateKey()
    expect(await attempt(secret)).to.equal('invalid_api_key')
    await adopt(secret)
    gate.invalidate()
    expect(await attempt(secret)).to.equal('ok')
  })

  it('are not remembered if a key was created while they were looked up', async () => {
    gate.startCaching()
    const secret = generateKey()
    const pending = attempt(secret)
    gate.invalidate()
    expect(await pending).to.equal('invalid_api_key')
    await adopt(secret)
    expect(await attempt(secret)).to.equal('ok')
  })

  it('are limited by network, with Retry-After, and cost one query per batch', async () => {
    gate.startCaching()
    const first = await attemptMany(ATTEMPTS_MAX)
    expect(new Set(first)).to.deep.equal(new Set(['invalid_api_key']))
    queries = 0
    const rest = await attemptMany(640)
    expect(new Set(rest)).to.deep.equal(new Set(['authentication_limited']))
    expect(queries).to.be.at.most(2)
    expect(await attempt(generateKey(), '198.51.100'), 'another network').to.equal(
      'invalid_api_key',
    )
    const refusal: unknown = await ring
      .authenticate(`Bearer ${generateKey()}`, () => '192.0.2')
      .catch((error: unknown) => error)
    expect((refusal as Fault).status).to.equal(429)
    expect(Number((refusal as Fault).headers['Retry-After'])).to.be.within(1, 60)
    now += 60_001
    expect(await attempt(generateKey()), 'in the next minute').to.equal('invalid_api_key')
  })

  it('lock no valid key out that shares their address, also a new one', async () => {
    const known = await createKey()
    expect(await attempt(known)).to.equal('ok')
    await attemptMany(ATTEMPTS_MAX + 10)
    const fresh = await createKey()
    now += 1_001 // beyond the cache of callers
    expect(await attempt(known), 'used before').to.equal('ok')
    expect(await attempt(fresh), 'never used before').to.equal('ok')
    expect(await attempt(generateKey())).to.equal('authentication_limited')
  })

  it('from many networks cost one query per batch, and lock no valid key out', async () => {
    gate.startCaching()
    const networks = (from: number, count: number) =>
      Array.from({ length: count }, (_, n) => `2001:db8:${(from + n).toString(16)}:0`)
    const attempts = (from: number, count: number) =>
      Promise.all(networks(from, count).map((network) => attempt(generateKey(), network)))
    await attempts(0, ATTEMPTS_TOTAL_MAX)
    const known = await createKey()
    queries = 0
    expect(new Set(await attempts(5_000, 640))).to.deep.equal(new Set(['invalid_api_key']))
    expect(queries).to.be.at.most(2)
    expect(await attempt(known, '2001:db8:ffff:0')).to.equal('ok')
    const crowd = await attempts(10_000, 1_100)
    expect(new Set(crowd)).to.deep.equal(new Set(['invalid_api_key', 'authentication_limited']))
  })

  it('with a typing error count too, but requests without a key do not', async () => {
    for (let i = 0; i < ATTEMPTS_MAX; i++) await attempt('ahk_typo')
    expect(await attempt('ahk_typo')).to.equal('authentication_limited')
    expect(queries).to.equal(0)
    const without = outcomeOf(ring.authenticate('', () => '192.0.2'))
    expect(await without).to.equal('invalid_api_key')
  })
})
