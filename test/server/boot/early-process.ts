import cluster from 'node:cluster'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { sleep } from '../../../core/clock.ts'
import { forkEarly } from '../../../server/boot/fork-workers.ts'
import type { PrimaryMessage, WorkerMessage } from '../../../server/boot/worker-messages.ts'

/**
 * Program: a hub whose primary process loads nothing after its workers serve, whose workers serve
 * only what takes a while. In the mode `fails`, they fail instead. Prints what happens, by line.
 */
const mode = process.argv[2]
const print = (line: string): void => void process.stdout.write(`${line}\n`)
const send = (message: WorkerMessage): void => void process.send!(message)
const REQUEST_MS = 500

function serve(): void {
  const server = createServer((_, response) => {
    print('asked')
    void sleep(REQUEST_MS).then(() => response.end('answered'))
  })
  server.listen(0, '127.0.0.1', () => {
    const { port } = server.address() as AddressInfo
    print(`serves ${port}`)
    send({ hub: 'ready', port, lease: '' })
  })
  process.once('SIGTERM', () => {
    server.close(() => process.exit(0))
    server.closeIdleConnections()
  })
}

if (cluster.isWorker) {
  process.on('message', ({ hub }: PrimaryMessage) => {
    if (hub === 'listen') serve()
    else if (mode === 'fails') process.exit(1)
    else if (hub === 'place') send({ hub: 'opened' })
  })
  send({ hub: 'hello' })
} else {
  await forkEarly({ HUB_WORKERS: '2' }, { sandbox: undefined })
  print('loads')
  setInterval(() => {}, 1_000) // takes long
}
