import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { freePort } from '../../../core/runtime/net.ts'
import { eventually } from '../../support/eventually.ts'

const FOLDER = 'server/deploy/prometheus'
/** Jobs run once a minute, reconciliation waits for final blocks, and thresholds are minutes. */
export const FIRES_MS = 300_000

interface Alerts {
  readonly data: {
    readonly alerts: readonly { readonly labels: { readonly alertname: string } }[]
  }
}

/** A real Prometheus with the rules of the kit, which fire without a wait. */
export class Prometheus {
  readonly #folder = mkdtempSync(join(tmpdir(), 'agenthub-test-'))
  #child: ChildProcess | undefined
  #url = ''

  async start(target: string): Promise<void> {
    const port = await freePort()
    this.#url = `http://127.0.0.1:${port}`
    const rules = readFileSync(join(FOLDER, 'alerts.yml'), 'utf8')
    writeFileSync(join(this.#folder, 'alerts.yml'), rules.replaceAll(/for: \d+m/g, 'for: 0s'))
    // Metrics of a hub without its database take six seconds.
    const settings = readFileSync(join(FOLDER, 'prometheus.yml'), 'utf8')
      .replaceAll(': 15s', ': 8s')
      .replace(/targets: .*/, `targets: ['${target}']`)
    writeFileSync(join(this.#folder, 'prometheus.yml'), settings)
    const args = [
      `--config.file=${join(this.#folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(this.#folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ]
    this.#child = spawn('prometheus', args, { stdio: 'ignore' })
    await eventually(() =>
      fetch(`${this.#url}/-/ready`).then(
        ({ ok }) => ok,
        () => false,
      ),
    )
  }

  async firing(): Promise<readonly string[]> {
    const { data } = (await (await fetch(`${this.#url}/api/v1/alerts`)).json()) as Alerts
    return data.alerts.map(({ labels }) => labels.alertname)
  }

  async fires(alert: string): Promise<void> {
    let firing: readonly string[] = []
    await eventually(async () => {
      firing = await this.firing()
      return firing.includes(alert)
    }, FIRES_MS).catch(() => expect(firing).to.include(alert))
  }

  async clears(alert: string): Promise<void> {
    await eventually(async () => !(await this.firing()).includes(alert), FIRES_MS)
  }

  stop(): void {
    this.#child?.kill('SIGKILL')
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
