import { generateKeyPairSync } from 'node:crypto'
import { expect } from 'chai'
import { Webhook } from 'standardwebhooks'
import { domainToken, recheckDomains } from '../../../core/catalog/domains/proof.ts'
import { resealSecrets } from '../../../core/catalog/upstreams/secrets.ts'
import { systemClock } from '../../../core/clock.ts'
import { loadSigningKeys, signingKeyOf } from '../../../core/crypto/signing-key.ts'
import { LINK_SECONDS, MagicLinks } from '../../../core/identity/magic-link.ts'
import { uuidv7 } from '../../../core/ids.ts'
import { createLog } from '../../../core/log.ts'
import type { Purpose } from '../../../core/secret-keys/purposes.ts'
import { SecretKeys, wrappingKeys } from '../../../core/secret-keys/secret-keys.ts'
import type { CallRecord } from '../../../core/usage/call-records.ts'
import { Receipts } from '../../../core/usage/receipts.ts'
import { StoredResponses } from '../../../core/usage/stored-responses.ts'
import { createSealingKeys } from '../../../server/boot/upstreams.ts'
import { keysCommand } from '../../../server/commands/keys/index.ts'
import { eventually } from '../../support/eventually.ts'
import { useWebhooks } from '../../support/webhook-fixture.ts'

/** Rehearsals of every rotation, on a running hub. */
describe('npm run keys', () => {
  const hooks = useWebhooks()
  const hub = () => hooks.hub()
  const pool = () => hub().hub.pool
  const secretKeys = () => hub().hub.secretKeys
  const log = createLog('silent')
  const WHY = ['--reason', 'a yearly change', '--author', 'ops']
  let masters: Parameters<typeof wrappingKeys>[0]
  before(async () => {
    masters = await loadSigningKeys({ signingKeys: [], dataDir: hub().dataDir })
  })

  const say = async (...args: string[]) => {
    let output = ''
    const deps = { signingKeys: async () => masters, sealingKeys: [] }
    const code = await keysCommand(
      deps,
      async () => pool(),
      args,
      (text) => {
        output += text
      },
    )
    return { code, output }
  }
  /** Rotates a key and lets the time pass until all processes use it. */
  const rotate = async (purpose: Purpose) => {
    const { code, output } = await say('rotate', purpose, ...WHY)
    expect(code, output).to.equal(0)
    const { admin } = hub().database
    await admin.query(`BEGIN; ALTER TABLE hub.key_version DISABLE TRIGGER check_key_version;
      UPDATE hub.key_version SET active_from = active_from - interval '1 minute'
      WHERE active_from > now();
      ALTER TABLE hub.key_version ENABLE TRIGGER check_key_version; COMMIT`)
    await secretKeys().reload()
  }
  const retire = (purpose: Purpose, version = 1) => say('retire', purpose, String(version), ...WHY)
  const refuse = async (purpose: Purpose, text: string) => {
    const { code, output } = await retire(purpose)
    expect([code, output.includes(text)], output).to.deep.equal([1, true])
  }

  it('A180 keeps webhooks verifiable through a rotation', async () => {
    const hook = await hooks.add(['balance.low'])
    const received = async () => {
      const count = hooks.arrived(hook)
      await hooks.test(hook)
      await eventually(() => hooks.arrived(hook) > count)
      return hooks
        .receiver()
        .notices.filter(({ path }) => path === hook.path)
        .at(-1)!
    }
    const verify = (secret: string, { body, headers }: Awaited<ReturnType<typeof received>>) =>
      new Webhook(secret).verify(body, headers)
    verify(hook.secret, await received())
    await rotate('webhooks')
    verify(hook.secret, await received())
    await refuse('webhooks', 'webhooks still have a secret of it')
    const { body } = await hooks.api(`/${hook.id}/rotate`, { body: { overlap_seconds: 60 } })
    const both = await received()
    verify(hook.secret, both)
    verify(String(body['secret']), both)
    await refuse('webhooks', '1 webhooks')
    await pool().query(`UPDATE hub.webhook SET previous_until = now() WHERE id = $1`, [hook.id])
    expect(await retire('webhooks')).to.include({ code: 0 })
    const last = await received()
    verify(String(body['secret']), last)
    expect(() => verify(hook.secret, last)).to.throw()
  })

  it('A180 keeps domains verified through a rotation', async () => {
    const { egress, pool: on } = hub().hub
    const proofKeys = secretKeys().of('domain-proofs')
    const recheck = async () => {
      await on.query(`UPDATE hub.domain SET next_check_at = now() WHERE state = 'verified'`)
      await recheckDomains({ pool: on, egress, proofKeys, resolveTxt: async () => [] })
      const { rows } = await on.query(
        `SELECT owner, host, state, token_version AS version,
           proven_at > now() - interval '10 seconds' AS proven FROM hub.domain`,
      )
      return rows[0]
    }
    await rotate('domain-proofs')
    expect(await recheck()).to.include({ state: 'verified', version: 1, proven: true })
    await refuse('domain-proofs', '1 domains still publish a token of it')
    hub().sandbox!.magazine!.show(domainToken(proofKeys, await recheck()))
    expect(await recheck()).to.include({ state: 'verified', version: 2, proven: true })
    expect(await retire('domain-proofs')).to.include({ code: 0 })
    expect(await recheck()).to.include({ state: 'verified', version: 2, proven: true })
  })

  it('A180 keeps open sign-in links usable through a rotation', async () => {
    const links = new MagicLinks(pool(), secretKeys().of('sign-in-links'))
    const request = async (email: string) => {
      await links.request(email, '192.0.2.0')
      const { rows } = await pool().query(
        'SELECT id, key_version AS version FROM hub.magic_link WHERE email = $1',
        [email],
      )
      return rows[0]
    }
    const before = await request('before@example.com')
    await rotate('sign-in-links')
    const after = await request('after@example.com')
    expect([before.version, after.version]).to.deep.equal([1, 2])
    await refuse('sign-in-links', '1 sign-in links of it are open')
    for (const { id } of [before, after]) {
      const token = await links.tokenFor(id)
      await links.confirm(token!, { network: '192.0.2.0', agent: 'test' })
    }
    expect(LINK_SECONDS).to.be.at.most(900)
    expect(await retire('sign-in-links')).to.include({ code: 0 })
  })

  it('A180 keeps stored responses readable through a rotation, encrypted anew', async () => {
    const responses = new StoredResponses(pool(), secretKeys().of('stored-responses'))
    const store = async () => {
      const id = uuidv7(systemClock.now().getTime())
      await responses.store(id, { call: 'c', status: 200, headers: {}, body: { id } })
      return id
    }
    const many = await Promise.all(Array.from({ length: 120 }, store))
    await rotate('stored-responses')
    const next = await store()
    const all = () => Promise.all([...many, next].map((id) => responses.find(id)))
    expect((await all()).map((each) => each?.body)).to.deep.equal(
      [...many, next].map((id) => ({ id })),
    )
    expect(await retire('stored-responses')).to.include({ code: 0 })
    expect((await all()).every((each) => each?.status === 200)).to.equal(true)
  })

  it('A180 keeps upstream credentials readable through a rotation', async () => {
    const keys = createSealingKeys({ listing: { sealingKeys: [] }, secretKeys: secretKeys() })
    const purpose = 'upstream-secret shop header x-token'
    const { keyId, sealed } = keys.seal(purpose, 'hunter2')
    const client = await hub().database.admin.connect()
    try {
      await client.query(`SET session_replication_role = replica`) // without a service
      await client.query(
        `INSERT INTO hub.upstream_secret (service, origin, place, name, key_id, sealed)
         VALUES ('shop', 'https://shop.test', 'header', 'x-token', $1, $2)`,
        [keyId, sealed],
      )
    } finally {
      client.release(true)
    }
    const read = async () => {
      const { rows } = await pool().query('SELECT key_id, sealed FROM hub.upstream_secret')
      return keys.open(purpose, rows[0].key_id, rows[0].sealed)
    }
    await rotate('upstream-credentials')
    expect(await read()).to.equal('hunter2')
    expect(await retire('upstream-credentials')).to.include({ code: 0 })
    await secretKeys().reload()
    expect(await read()).to.equal('hunter2')
    expect(await resealSecrets(pool(), keys)).to.deep.equal({ count: 0, unreadable: 0 })
    await hub().database.admin.query('DELETE FROM hub.upstream_secret')
  })

  it('A180 keeps receipts verifiable, and publishes the next key before it is used', async () => {
    const receipts = () =>
      new Receipts(
        pool(),
        () => secretKeys().signingKey(),
        () => 'https://h',
      )
    const record = { id: 'c', at: new Date(), keyId: 'k', charged: 1n, status: 200 }
    const sign = () => receipts().sign(record as unknown as CallRecord, 'POST /echo/say')
    const before = await sign()
    expect((await say('rotate', 'receipts', ...WHY)).code).to.equal(0)
    expect(await receipts().keys(), 'published').to.have.lengthOf(2)
    await secretKeys().reload()
    expect(await sign(), 'not used yet').to.equal(before)
    const { code } = await say('rotate', 'receipts', ...WHY)
    expect(code, 'two at most').to.equal(1)
  })

  it('lets other processes follow without a restart', async () => {
    const other = await SecretKeys.open(pool(), { masters, log, reloadMs: 20 })
    const names = other.of('caller-names')
    const first = names.current.material
    expect((await say('rotate', 'caller-names', ...WHY)).code).to.equal(0)
    await eventually(() => names.valid.length === 2)
    expect(names.current.material.equals(first), 'known before it is used').to.equal(true)
    expect((await names.find(2)).version).to.equal(2)
    await hub().database.admin.query(`BEGIN;
      ALTER TABLE hub.key_version DISABLE TRIGGER check_key_version;
      UPDATE hub.key_version SET active_from = now() - interval '1 minute' WHERE version = 2;
      ALTER TABLE hub.key_version ENABLE TRIGGER check_key_version; COMMIT`)
    await eventually(() => names.current.version === 2)
    other.close()
  })

  it('A182 replaces the key that encrypts all others', async () => {
    const [old] = masters
    const next = signingKeyOf(generateKeyPairSync('ed25519').privateKey)
    const open = (keys: typeof masters) => SecretKeys.open(pool(), { masters: keys, log })
    const refused = await open([next]).then(
      () => '',
      ({ message }: Error) => message,
    )
    expect(refused).to.include('HUB_SIGNING_KEY does not decrypt')
    const during = await open([next, old])
    const material = during.of('webhooks').current.material
    during.close()
    masters = [next, old]
    const { code, output } = await say('rewrap', ...WHY)
    expect([code, output.includes(next.id.slice(0, 16))], output).to.deep.equal([0, true])
    const after = await open([next])
    expect(after.of('webhooks').current.material.equals(material)).to.equal(true)
    after.close()
    masters = [old]
    expect((await say('rewrap', ...WHY)).code, 'without the new key').to.equal(1)
    const locked = await say('list')
    expect(locked.output).to.include(
      `encrypted by ${next.id.slice(0, 16)}, which HUB_SIGNING_KEY lacks`,
    )
    expect(locked.output).to.match(/HUB_SIGNING_KEY does not decrypt \d+ of these versions, so the/)
    const rows: { decryptable: unknown }[] = JSON.parse((await say('list', '--json')).output)
    const states = new Set(rows.map((row) => row.decryptable))
    expect(states, 'retired versions need no key').to.deep.equal(new Set([false, null]))
    masters = [next]
    expect((await say('list')).output).to.not.include('HUB_SIGNING_KEY')
    masters = [next, old]
  })

  it('A181 refuses what would break something, and records every change', async () => {
    expect((await retire('plugin-databases')).output).to.include('Rotate first')
    expect((await say('rotate', 'plugin-databases', ...WHY)).code).to.equal(0)
    expect((await retire('plugin-databases')).output).to.include('may still use version 1')
    expect((await say('rotate', 'none', ...WHY)).code).to.equal(2)
    expect((await say('rotate', 'webhooks')).output).to.include('--reason is required')
    const { admin } = hub().database
    for (const change of [
      `DELETE FROM hub.key_version`,
      `UPDATE hub.key_version SET version = 9 WHERE purpose = 'plugin-databases' AND version = 1`,
      `UPDATE hub.key_version SET wrapped = NULL, retired_at = now()
       WHERE purpose = 'plugin-databases' AND version = 1`,
    ]) {
      const error = await admin.query(change).then(
        () => 'accepted',
        ({ code }: { code: string }) => code,
      )
      expect(error, change).to.equal('23001')
    }
    const { rows } = await pool().query<{ act: string }>(
      `SELECT DISTINCT act FROM hub.audit WHERE name = 'ops' ORDER BY act`,
    )
    const acts = rows.map(({ act }) => act)
    expect(acts).to.deep.equal(['secret.retire', 'secret.rewrap', 'secret.rotate'])
    const listed = JSON.parse((await say('list', '--json')).output) as { purpose: string }[]
    expect(new Set(listed.map(({ purpose }) => purpose)).size).to.equal(10)
    const { output } = await say('list')
    expect(output).to.include('version 1: retired').and.to.include('depend on it')
  })
})
