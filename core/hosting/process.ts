import { syncBuiltinESMExports } from 'node:module'
import { Socket } from 'node:net'
import os from 'node:os'
import v8 from 'node:v8'
import { frame, readFrames } from './frames.ts'
import { Inside } from './inside.ts'

/** What a process of its own begins with: it hears the hub by file 3, and is heard by file 4. */
const input = new Socket({ fd: 3, readable: true, writable: false })
const output = new Socket({ fd: 4, readable: false, writable: true })
const inside = new Inside((text) => void output.write(frame(text)))

/** Node's permission model leaves these open: they could end, slow or debug other processes. */
const OPEN = [
  'kill',
  '_kill',
  '_debugProcess',
  '_debugEnd',
  'setuid',
  'setgid',
  'seteuid',
  'setegid',
]
const refuse = (): never => {
  throw Object.assign(new Error('Access to this API has been restricted.'), {
    code: 'ERR_ACCESS_DENIED',
  })
}
for (const name of OPEN) Object.defineProperty(process, name, { value: refuse })
Object.defineProperty(os, 'setPriority', { value: refuse })
Object.defineProperty(v8, 'setFlagsFromString', { value: refuse })
syncBuiltinESMExports()
process.on('unhandledRejection', () => undefined)

await readFrames(input, (text) => inside.take(text))
process.exit(0) // the hub has gone
