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
  description: 'nodes, and where the shards of the ledger are, with entries and sizes',
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

const move: Command = {
  usage: 'SHARD HOST:PORT',
  description: 'move a shard of the ledger to another node while the hubs serve',
  options: {},
  words: 2,
  async run(context, _values, [shard, node]) {
    const number = Number(required(shard, 'SHARD'))
    if (!Number.isInteger(number)) throw new UsageError('SHARD must be a number')
    const target = addressOf(node)
    const moved = await onCluster(context, (client) => moveShard(client, number, target))
    await context.write(moved ? `Shard ${number} is on ${node}.\n` : 'It is already there.\n')
    return 0
  },
}

const spread: Command = {
  usage: '',
  description: 'move shards until no node has more than one more than another',
  options: {},
  async run(context) {
    const moves = await onCluster(context, async (client) => {
      const { nodes, shards } = await readClusterStatus(client)
      return rebalance(client, nodes, shards)
    })
    const lines = moves.map(({ shard, node }) => `Shard ${shard} is on ${node}.\n`)
    await context.write(lines.length === 0 ? 'Nothing to move.\n' : lines.join(''))
    return 0
  },
}

const add: Command = {
  usage: 'HOST:PORT',
  description: `add a node, which must have the database and the extension; rebalance then
moves shards there`,
  options: {},
  words: 1,
  async run(context, _values, [node]) {
    const address = addressOf(node)
    await onCluster(context, (client) => addNode(client, address))
    await context.write(`Added node ${node}.\n`)
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
  commands: { status, check, move, rebalance: spread, 'add-node': add },
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
    ...nodes.map(({ node, isCoordinator, isActive, storesShards, shards: count, bytes }) => {
      const role = isCoordinator ? 'coordinator' : 'worker'
      const state = isActive ? '' : ', inactive'
      const stores = storesShards ? `${count} shards, ${megabytes(bytes)}` : 'no shards'
      return `  ${node}  ${role}${state}, ${stores}`
    }),
    'Shards',
    ...shards.map(
      ({ shard, node, physical, entries, bytes }) =>
        `  ${shard}  ${node}  ${entries} entries, ${megabytes(bytes)}, physical ${physical}`,
    ),
  ]
  return `${lines.join('\n')}\n`
}

const BYTES_PER_MB = 1_000_000n
const megabytes = (bytes: bigint): string => `${bytes / BYTES_PER_MB} MB`
