import { expect } from 'chai'
import { createPool } from '../../../../core/db/pool.ts'
import { usd } from '../../../../core/money.ts'
import { USDC_BASE } from '../../../../core/payments/chain/asset.ts'
import { openChain } from '../../../../core/payments/chain/chain.ts'
import { freePort } from '../../../../core/runtime/net.ts'
import { assertMayRead, metricsRoutes } from '../../../../server/rest/metrics.ts'
import { collectGauges } from '../../../../server/rest/metrics-gauges.ts'
import { ask } from '../../../support/ask.ts'
import { useHub } from '../../../support/suite.ts'
import { buyWeather, createAdmin, openSecondHub } from './fixture.ts'

const TOKEN = 'metrics-token-of-a-test'
const LINE = /^(?:# (?:HELP|TYPE) .*|(\w+(?:\{.*\})?) (\S+)|)$/

/** Parses Prometheus text: `name{labels}` → value. Fails on an invalid line. */
function parse(text: string): Map<string, number> {
  const lines = text.split('\n').map((line) => LINE.exec(line) ?? expect.fail(`no line: ${line}`))
  return new Map(lines.flatMap(([, name, value]) => (name ? [[name, Number(value)]] : [])))
}

describe('metrics', () => {
  const admin = createAdmin()
  const hub = useHub({ config: { admins: [admin.wallet] } })
  const ports = () => {
    const { chain, treasury, spend, gas, networks } = hub().sandbox!.money
    const { dataDir } = hub()
    const wallets = { treasury, spend: spend.address, gas, networks }
    return { pool: hub().hub.pool, dataDir, chain, ...wallets }
  }

  it('report pending payments, wallets and outflow in Prometheus format', async () => {
    const ada = await hub().agent(usd('5'))
    await ada.client.purchase(usd('5'))
    await buyWeather(hub(), ada.apiKey)
    await buyWeather(hub(), ada.apiKey)
    await buyWeather(hub(), ada.apiKey, 'fault=failing')
    await admin.ask(hub(), 'outgoing', { paused: true, reason: 'a test' })
    const { status, headers, text } = await ask(hub().url, '/metrics')
    expect(status).to.equal(200)
    expect(headers['content-type']).to.equal('text/plain; version=0.0.4; charset=utf-8')
    const metrics = parse(text)
    expect(Object.fromEntries(metrics)).to.include({
      'hub_unresolved_payments{direction="in",state="claimed"}': 0,
      'hub_unresolved_payments{direction="in",state="settled"}': 1,
      'hub_unresolved_payments{direction="out",state="unresolved"}': 1,
      'hub_unresolved_payments{direction="out",state="paid"}': 2,
      'hub_unresolved_payments_older{age="1h"}': 0,
      'hub_queue_pending{queue="exports"}': 0,
      'hub_wallet_usdc_microdollars{wallet="treasury"}': 5_000_000,
      'hub_wallet_usdc_microdollars{wallet="spend"}': 49_980_000,
      'hub_ledger_wallet_microdollars{wallet="spend"}': 50_000_000,
      'hub_ledger_exceptions{wallet="spend"}': 0,
      hub_ledger_holds_microdollars: 10_000,
      hub_outgoing_paused: 1,
      hub_ledger_sound: 1,
      hub_outflow_today_microdollars: 30_000,
      hub_database_up: 1,
      hub_chain_up: 1,
    })
    expect(metrics.has('hub_replica_connected'), 'of no replica').to.equal(false)
    expect(metrics.has('hub_reconciled_seconds'), 'without a reconciliation').to.equal(false)
    expect(metrics.get('hub_disk_free_ratio')).to.be.within(0, 1)
    expect(metrics.get('hub_gas_gwei')).to.be.within(1, 10_000_000_000)
    expect(metrics.get('hub_unresolved_payment_oldest_seconds')).to.be.within(0, 30)
    expect(metrics.get('hub_ledger_entries')).to.be.greaterThan(3)
    expect(metrics.get('process_resident_memory_bytes')).to.be.greaterThan(1_000_000)
  })

  it('count the payments that have been open for an hour and for a day', async () => {
    const { admin: owner, pool } = hub().database
    await owner.query(
      `ALTER TABLE hub.payment_intent DISABLE TRIGGER USER;
       UPDATE hub.payment_intent SET created_at = created_at - CASE state
         WHEN 'unresolved' THEN interval '25 hours' ELSE interval '61 minutes' END;
       ALTER TABLE hub.payment_intent ENABLE TRIGGER USER`,
    )
    const metrics = parse(await collectGauges({ ...ports(), pool }))
    expect(metrics.get('hub_unresolved_payments_older{age="1h"}')).to.equal(3)
    expect(metrics.get('hub_unresolved_payments_older{age="24h"}')).to.equal(1)
  })

  it('show how far a subscriber and a replica of the database lag behind', async () => {
    const { admin: owner, pool } = hub().database
    const slot = `replica_${process.pid}`
    await owner.query('SELECT pg_create_physical_replication_slot($1, true)', [slot])
    try {
      await owner.query(
        `INSERT INTO hub.cursor (name, shard, seq)
         SELECT 'slow', shard, seq - 1 FROM ledger.head WHERE seq > 0`,
      )
      const { rows } = await owner.query('SELECT FROM ledger.head WHERE seq > 0')
      await owner.query("SELECT pg_logical_emit_message(false, 'a test', repeat('x', 100000))")
      const metrics = parse(await collectGauges({ ...ports(), pool }))
      expect(metrics.get('hub_subscriber_behind_entries{name="slow"}')).to.equal(rows.length)
      expect(metrics.get(`hub_replica_connected{replica="${slot}"}`)).to.equal(0)
      expect(metrics.get(`hub_replica_behind_bytes{replica="${slot}"}`)).to.be.at.least(100_000)
    } finally {
      await owner.query('SELECT pg_drop_replication_slot($1)', [slot])
    }
  })

  it('are read once for concurrent requests', async () => {
    let looks = 0
    const { chain } = ports()
    const counted = { ...chain, head: () => (++looks, chain.head()) }
    const [metrics] = metricsRoutes({
      ...ports(),
      chain: counted,
      metricsToken: undefined,
      metricsText: async () => '',
      meters: { exemplars: new Map() },
    })
    const request = { ip: '127.0.0.1', header: () => undefined } as never
    await Promise.all(Array.from({ length: 20 }, () => metrics!.handle(request)))
    expect(looks).to.equal(1)
  })

  it('require the token if one is configured', async () => {
    const another = await openSecondHub(hub(), { admins: [admin.wallet], metricsToken: TOKEN })
    try {
      const at = (key?: string) => ask(another.url, '/metrics', { key })
      for (const key of [undefined, 'wrong', `${TOKEN}x`, await admin.key(hub())]) {
        const { status, headers, body } = await at(key)
        expect([status, body['code']]).to.deep.equal([401, 'metrics_token_required'])
        expect(headers['www-authenticate']).to.match(/^Bearer/)
      }
      expect(parse((await at(TOKEN)).text).get('hub_database_up')).to.equal(1)
    } finally {
      await another.close()
    }
  })

  it('are only for direct requests of this machine without a token', async () => {
    for (const name of ['x-forwarded-for', 'forwarded', 'via']) {
      const { body } = await ask(hub().url, '/metrics', { headers: { [name]: '127.0.0.1' } })
      expect(body, name).to.include({ status: 403, code: 'loopback_only' })
    }
    const from = (ip: string) => () => assertMayRead(undefined, { ip, header: () => undefined })
    for (const ip of ['127.0.0.1', '127.3.2.1', '::1', '::ffff:127.0.0.1']) {
      expect(from(ip), ip).not.to.throw()
    }
    for (const ip of ['10.0.0.1', '::ffff:10.0.0.1', '127.0.0.1.example', '1127.0.0.1', '']) {
      expect(from(ip), ip).to.throw('HUB_METRICS_TOKEN')
    }
  })

  it('omit and report what cannot be read', async () => {
    const rpcUrl = `http://127.0.0.1:${await freePort()}`
    const chain = openChain({ rpcUrl, network: USDC_BASE.network })
    const blind = parse(await collectGauges({ ...ports(), chain }))
    expect(blind.get('hub_chain_up')).to.equal(0)
    expect([...blind.keys()].join(' ')).to.not.match(/hub_wallet_usdc|hub_gas_gwei/)
    expect(blind.get('hub_ledger_wallet_microdollars{wallet="spend"}')).to.equal(50_000_000)
    const nowhere = createPool(`postgres://nobody@127.0.0.1:${await freePort()}/none`)
    const deaf = parse(await collectGauges({ ...ports(), pool: nowhere }))
    expect([...deaf.keys()]).to.deep.equal(['hub_database_up', 'hub_disk_free_ratio'])
    expect(deaf.get('hub_database_up')).to.equal(0)
    await nowhere.end()
  })
})
