import { expect } from 'chai'
import { type ApiResponse, ask } from '../support/ask.ts'
import { useHub } from '../support/suite.ts'

interface Key {
  readonly id: string
  readonly secret: string
}

describe('trees of sub-keys', () => {
  const hub = useHub()
  let root: Key
  const agent = async (): Promise<Key> => {
    const { keyId: id, apiKey: secret } = await hub().agent()
    return { id, secret }
  }
  beforeEach(async () => {
    root = await agent()
  })
  const keys = (by: Key, path = '', question: object = {}): Promise<ApiResponse> =>
    ask(hub().url, `/v1/keys${path}`, { key: by.secret, ...question })
  const make = async (by: Key): Promise<Key> => {
    const { status, body } = await keys(by, '', { body: {} })
    expect(status, JSON.stringify(body)).to.equal(201)
    return { id: String(body['key_id']), secret: String(body['api_key']) }
  }

  it('A317 have at most 10,000 keys on all levels together', async () => {
    const { pool } = hub().hub
    const child = await make(root)
    const insert = `INSERT INTO hub.api_key (id, principal, parent, depth, credits)
      SELECT 'key_' || lpad($2 || n, 16, '0'), p.principal, p.id, p.depth + 1, p.credits
      FROM hub.api_key p, generate_series(1, $3) n WHERE p.id = $1 RETURNING id`
    const { rows: parents } = await pool.query<{ id: string }>(insert, [child.id, 'a', 10])
    for (const [n, { id }] of parents.entries()) {
      await pool.query(insert, [id, `b${n}x`, n === 9 ? 996 : 999])
    }
    const last = await make(child)
    for (const key of [root, child, last]) {
      const { status, body } = await keys(key, '', { body: {} })
      expect([status, body['code'], body['scope']]).to.deep.equal([
        403,
        'key_limit_reached',
        'tree',
      ])
    }
    await make(await agent())
  })

  it('A318 have few valid secrets, however often they are rotated', async () => {
    const child = await make(root)
    await hub().hub.pool.query(
      `INSERT INTO hub.key_secret (hash, key, prefix, expires_at)
       SELECT sha256(($1 || n)::bytea), $1, 'ahk_x', now() + interval '1 week'
       FROM generate_series(1, 98) n`,
      [child.id],
    )
    const rotate = () => keys(root, `/${child.id}/rotate`, { body: { overlap_seconds: 604_800 } })
    expect((await rotate()).status).to.equal(201)
    const { status, body } = await rotate()
    const found = [status, body['code'], body['scope']]
    expect(found).to.deep.equal([403, 'key_limit_reached', 'secrets'])
    expect((await keys(root, `/${child.id}`)).body['prefixes']).to.have.lengthOf(100)
    const revoked = await keys(root, `/${child.id}`, { method: 'DELETE' })
    expect(revoked.status, 'it can be revoked still').to.equal(200)
  })
})
