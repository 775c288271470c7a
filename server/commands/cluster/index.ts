import type { Pool } from 'pg'
import { ConfigError } from '../../../core/config.ts'
import {
  addNode,
  moveShard,
  type NodeAddress,
  parseNode,
  rebalance,
} from '../../../core/db/citus/change-cluster.ts'
import {
  type ClusterStatus,
  checkCluster,
  readClusterStatus,
} from '../../../core/db/citus/cluster-status.ts'
import { assertCitus, distributeLedger } from '../../../core/db/citus/distribute.ts'
import { isDistributed } from '../../../core/db/citus/is-distributed.ts'
import {
  type Command,
  type CommandContext,
  EXIT_FAILED,
  required,
  toJson,
  UsageError,
  type Write,
} from '../command.ts'
import { type Program, runProgram } from '../run-program.ts'

const JSON_OPTION = { json: { type: 'boolean' } } as const

const status: Command = {
  usage: '[--json]',
  description: 'nodes, with load and lag of standbys, and the shards of the ledger on them',
  options: JSON_OPTION,
  async run(context, values) {
    const found = await onCluster(context, readClusterStatus)
    await context.write(values['json'] === true ? toJson(found) : describeStatus(found))
    return 0
  },
}

const check: Command = {
  usage: '[--json]',
  description: `whether nodes reach each other and have all functions of the ledger;
exit code 1 if one does not`,
  options: JSON_OPTION,
  async run(context, values) {
    const problems = await onCluster(context, checkCluster)
    const lines = problems.length === 0 ? ['The cluster is complete.'] : problems
    await context.write(values['json'] === true ? toJson({ problems }) : `${lines.join('\n')}\n`)
    return problems.length === 0 ? 0 : EXIT_FAILED
  },
}

const distribute: Command = {
  usage: '',
  description: `distribute the ledger, or give nodes the roles and functions that they lack, as
"npm run migrate" does with HUB_CLUSTER=citus; stop the hubs first`,
  options: {},
  async run({ pool, write }) {
    const url = (await pool()).options.connectionString!
    await assertCitus(url)
    await distributeLedger(url, (text) => void write(`${text}\n`))
    return 0
  },
}

const move: Command = {
  usage: 'SHARD HOST:PORT [--json]',
  description: 'move a shard of the ledger to another node while the hubs serve',
  options: JSON_OPTION,
  words: 2,
  async run(context, { json }, [text, node]) {
    const shard = Number(required(text, 'SHARD'))
    if (!Number.isInteger(shard)) throw new UsageError('SHARD must be a number')
    const target = addressOf(node)
    const moved = await onCluster(context, (client) => moveShard(client, shard, target))
    const sentence = moved ? describeMove({ shard, node: node! }) : 'It is already there.\n'
    await context.write(json === true ? toJson({ shard, node, moved }) : sentence)
    return 0
  },
}

const spread: Command = {
  usage: '[--json]',
  description: `spread the shards evenly over the nodes; those that share a physical shard
move together`,
  options: JSON_OPTION,
  async run(context, { json }) {
    const moves: ShardMove[] = []
    await onCluster(context, async (client) => {
      const { nodes, shards } = await readClusterStatus(client)
      assertReachable(nodes)
      for await (const each of rebalance(client, nodes, shards)) {
        moves.push(each)
        if (json !== true) await context.write(describeMove(each))
      }
    })
    if (json === true) await context.write(toJson({ moves }))
    else if (moves.length === 0) await context.write('Nothing to move.\n')
    return 0
  },
}

interface ShardMove {
  readonly shard: number
  readonly node: string
}

const describeMove = ({ shard, node }: ShardMove): string => `Shard ${shard} is on ${node}.\n`

/** @throws ConfigError */
function assertReachable(nodes: ClusterStatus['nodes']): void {
  const lost = nodes.find(({ isReachable }) => !isReachable)
  if (lost) throw new ConfigError(`${lost.node} is unreachable. Nothing was moved.`)
}

const add: Command = {
  usage: 'HOST:PORT [--json]',
  description: `add a node, which must have the database and the extension; rebalance then
moves shards there`,
  options: JSON_OPTION,
  words: 1,
  async run(context, { json }, [node]) {
    const address = addressOf(node)
    const added = await onCluster(context, (client) => addNode(client, address))
    const sentence = added ? `Added node ${node}.\n` : `${node} was a node, and is complete.\n`
    await context.write(json === true ? toJson({ node, added }) : sentence)
    return 0
  },
}

/** @throws UsageError */
function addressOf(text: string | undefined): NodeAddress {
  const found = parseNode(required(text, 'HOST:PORT'))
  if (!found) throw new UsageError('HOST:PORT expected, such as worker-1.internal:5432')
  return found
}

const PROGRAM: Program = {
  name: 'cluster',
  commands: { status, check, distribute, move, rebalance: spread, 'add-node': add },
  footer: 'The login is that of the owner. "npm run migrate" distributes the ledger.',
}

/** Runs `npm run cluster`. @param connect opens connections of the owner @returns the exit code */
export const clusterCommand = (
  connect: () => Promise<Pool>,
  args: readonly string[],
  write: Write,
): Promise<number> => runProgram(PROGRAM, { connect, args, write })

/** Runs work on one connection. @throws ConfigError unless Citus distributes the ledger */
async function onCluster<T>(
  { pool }: CommandContext,
  work: (client: Parameters<typeof readClusterStatus>[0]) => Promise<T>,
): Promise<T> {
  const client = await (await pool()).connect()
  try {
    if (!(await isDistributed(client))) {
      throw new ConfigError(
        'The ledger is on one server: HUB_CLUSTER=citus and "npm run migrate" distribute it.',
      )
    }
    return await work(client)
  } finally {
    client.release()
  }
}

function describeStatus({ nodes, shards }: ClusterStatus): string {
  const lines = [
    'Nodes',
    ...nodes.map(describeNode),
    'Shards',
    ...shards.map(
      ({ shard, node, physical, entries, bytes }) =>
        `  ${shard}  ${node}  ${entries} entries, ${megabytes(bytes)}, physical ${physical}`,
    ),
  ]
  return `${lines.join('\n')}\n`
}

function describeNode(node: ClusterStatus['nodes'][number]): string {
  const { isCoordinator, isActive, isReachable, storesShards, standbyLagBytes: lag } = node
  const head = `  ${node.node}  ${isCoordinator ? 'coordinator' : 'worker'}`
  if (!isReachable) return `${head}, unreachable: its shards are not listed`
  return [
    head,
    ...(isActive ? [] : ['inactive']),
    storesShards ? `${node.shards} shards, ${megabytes(node.bytes)}` : 'no shards',
    `${node.activeSessions} active sessions`,
    ...(lag === null ? [] : [`standby ${megabytes(lag)} behind`]),
  ].join(', ')
}

const BYTES_PER_MB = 1_000_000n
const megabytes = (bytes: bigint): string => `${bytes / BYTES_PER_MB} MB`
