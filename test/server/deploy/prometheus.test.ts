import { spawnSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { parse } from 'yaml'
import { LIMITS, REPLICA_BYTES } from '../../../core/finance/hub-health.ts'
import { readOperatingFigures } from '../../../core/finance/operating-figures.ts'
import { createLog } from '../../../core/log.ts'
import { logFailure, outagesOf } from '../../../core/outages.ts'
import { JobRuns } from '../../../jobs/job-runs.ts'
import { Meters } from '../../../server/observability/meters.ts'
import { ask } from '../../support/ask.ts'
import { eventually } from '../../support/eventually.ts'
import { requirePrograms } from '../../support/skip.ts'
import { useHub } from '../../support/suite.ts'

const FOLDER = 'server/deploy'
const ALERTS = join(FOLDER, 'prometheus/alerts.yml')
/** Metrics of Prometheus itself, and those that appear with the first event. */
const OTHERS = new Set(['up', 'hub_rate_limited_total', 'hub_unhandled_errors_total'])

interface Rule {
  readonly alert: string
  readonly expr: string
  readonly annotations: { readonly summary: string; readonly runbook_url: string }
}

const readRules = async (): Promise<readonly Rule[]> =>
  parse(await readFile(ALERTS, 'utf8')).groups.flatMap(
    (group: { readonly rules: readonly Rule[] }) => group.rules,
  )

/** Returns the metrics that an expression names. */
const metricsIn = (expression: string): readonly string[] =>
  expression.replace(/"[^"]*"/g, '').match(/\b(?:up|(?:hub|nodejs|process)_\w+)\b/g) ?? []

describe('the rules of Prometheus and the dashboard', () => {
  const hub = useHub()
  const metrics = async (): Promise<string> => (await ask(hub().url, '/metrics')).text

  it('name metrics that the hub reports', async () => {
    const agent = await hub().agent()
    await ask(hub().url, '/proxy/echo/say', { key: agent.apiKey, body: { words: 'hello' } })
    const job = { everySeconds: 5, run: async () => {} }
    const runs = new JobRuns(hub().hub.pool)
    await runs.record('expire-holds', job, 0, true)
    const text = await metrics()
    const dashboard = JSON.parse(await readFile(join(FOLDER, 'grafana/agenthub.json'), 'utf8'))
    const expressions: string[] = [
      ...(await readRules()).map(({ expr }) => expr),
      ...dashboard.panels.map((panel: { targets: [{ expr: string }] }) => panel.targets[0].expr),
    ]
    const known = new Set(text.match(/^[a-z]\w+/gm))
    // These are reported after the first run of their jobs, or if there is a replica.
    const later =
      /^hub_(?:gas_low|replica_\w+|subscriber_behind_entries|\w*(?:reconciled|verified)_seconds)$/
    const unknown = expressions
      .flatMap(metricsIn)
      .filter((name) => !known.has(name) && !OTHERS.has(name) && !later.test(name))
    expect([...new Set(unknown)]).to.deep.equal([])
  })

  it('link each alert to a section of the guide, which has only one other', async () => {
    const { text } = await ask(hub().url, '/docs/operations')
    const sections = [...text.matchAll(/<h2 id="([a-z-]+)">/g)].map(([, id]) => id)
    const linked = (await readRules()).map(({ annotations }) => annotations.runbook_url)
    expect(linked.map((url) => url.split('#')[1])).to.have.members(
      sections.filter((id) => id !== 'failover'),
    )
    expect(new Set(linked.map((url) => url.split('#')[0]))).to.have.property('size', 1)
  })

  it('have the limits of the health board', async () => {
    const rules = await readRules()
    const limitOf = (alert: string) =>
      Number(/> (\d+)/.exec(rules.find((rule) => rule.alert === alert)!.expr)![1])
    expect(LIMITS).to.include({
      verified: limitOf('HubLedgerNotVerified'),
      reconciled: limitOf('HubNotReconciled'),
      failing: limitOf('HubJobFailing'),
      mail: limitOf('HubQueueBehind'),
      webhooks: limitOf('HubQueueBehind'),
      payouts: limitOf('HubPayoutsStuck'),
      backup: limitOf('HubBackupOld'),
      drill: limitOf('HubRestoreDrillOld'),
    })
    expect(REPLICA_BYTES).to.equal(limitOf('HubReplicaBehind'))
  })

  it('are accepted by promtool', async function () {
    requirePrograms(this, 'promtool')
    const check = (...args: string[]) => spawnSync('promtool', args, { encoding: 'utf8' })
    const { status, stderr } = check('check', 'rules', ALERTS)
    expect(status, stderr).to.equal(0)
    const config = check('check', 'config', join(FOLDER, 'prometheus/prometheus.yml'))
    expect(config.status, config.stderr).to.equal(0)
  })

  it('see a job that fails, and for how long', async () => {
    const runs = new JobRuns(hub().hub.pool)
    const job = { everySeconds: 5, run: async () => {} }
    await runs.record('a-job', job, 0, false)
    await runs.record('a-job', job, 0, false)
    await hub().database.admin.query(
      "UPDATE hub.job_run SET failing_since = now() - interval '7 minutes' WHERE job = 'a-job'",
    )
    const { jobs } = await readOperatingFigures(hub().hub.pool)
    const { failingSeconds, ...failed } = jobs.find((each) => each.job === 'a-job')!
    expect(failingSeconds).to.be.within(420, 430)
    expect(failed).to.include({ failures: 2n, successAgeSeconds: null, periodSeconds: 5 })
    await runs.record('a-job', job, 0, true)
    const [again] = (await readOperatingFigures(hub().hub.pool)).jobs
    expect(again).to.include({ job: 'a-job', failures: 2n, failingSeconds: null })
  })

  it('do not see for how long the treasury of a removed network was not reconciled', async () => {
    await hub().database.admin.query(
      `INSERT INTO hub.reconciliation (wallet, address, from_block, to_block, block_hash,
         block_time, chain_balance, ledger_balance, transfers, matched, pending, exceptions, at)
       SELECT w, '0x' || repeat('5', 40), 1, 2, '0x' || repeat('6', 64), now(), 0, 0, 0, 0, 0, 0,
         now() - interval '1 day'
       FROM unnest(ARRAY['treasury', 'treasury:polygon']) w`,
    )
    const isShown = (text: string, wallet: string) =>
      text.includes(`hub_reconciled_seconds{wallet="${wallet}"}`)
    await eventually(async () => isShown(await metrics(), 'treasury'))
    expect(isShown(await metrics(), 'treasury:polygon')).to.equal(false)
  })

  it('see each component that the hub watches, and one that fails', async () => {
    expect(await metrics()).to.include('hub_component_failing{component="blockchain node"} 0\n')
    const meters = new Meters()
    const log = createLog('silent')
    meters.watchOutages(outagesOf(log))
    outagesOf(log).succeed('Redis')
    expect(await meters.text()).to.include('hub_component_failing{component="Redis"} 0')
    logFailure(log, 'error', { err: new Error('gone'), component: 'Redis' }, 'failed')
    expect(await meters.text()).to.include('hub_component_failing{component="Redis"} 1')
  })
})
