import {
  CITUS_SETTINGS,
  CITUS_VERSION,
  type CitusDatabases,
  databasesOf,
} from '../../support/citus.ts'
import { Cluster } from './cluster.ts'

/** A kill of processes loses nothing that they have written. */
const SETTINGS = { ...CITUS_SETTINGS, fsync: 'off' } as const

/** Citus cluster of one test, whose nodes it kills and cuts off: each is behind its proxy. */
export class CitusNodes {
  readonly coordinator: Cluster
  readonly workers: readonly Cluster[]
  readonly databases: CitusDatabases

  private constructor(coordinator: Cluster, workers: readonly Cluster[]) {
    this.coordinator = coordinator
    this.workers = workers
    this.databases = databasesOf(
      coordinator.url,
      workers.map(({ url }) => url),
    )
  }

  static async start(workers: number): Promise<CitusNodes> {
    const nodes: Cluster[] = []
    for (let node = 0; node <= workers; node++) {
      nodes.push(await Cluster.create({ version: CITUS_VERSION, settings: SETTINGS }))
      await nodes[node]!.start()
    }
    const [coordinator, ...others] = nodes
    return new CitusNodes(coordinator!, others)
  }

  async remove(): Promise<void> {
    for (const node of [this.coordinator, ...this.workers]) await node.remove()
  }
}
