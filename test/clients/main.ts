import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { install } from './install.ts'
import { CLIENTS_FOLDER, cachedFolder, isComplete } from './installed.ts'

/** Program of `npm run test:clients`: installs all clients, once per lock file, and tests them. */
const folder = cachedFolder()
if (!isComplete(folder)) {
  process.stdout.write(`installing the clients (0.5 GB) in ${folder}\n`)
  await install(folder, [])
}
const mocha = join(import.meta.dirname, '../../node_modules/mocha/bin/mocha.js')
const args = [mocha, '--config', 'test/clients/mocharc.json', ...process.argv.slice(2)]
const env = { ...process.env, [CLIENTS_FOLDER]: folder }
const child = spawn(process.execPath, args, { env, stdio: 'inherit' })
const [code] = await once(child, 'close')
process.exitCode = code ?? 1
