import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, cp, mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { COMPLETE, MANIFEST } from './installed.ts'

/**
 * Installs the clients as package-lock.json pins them, without scripts. It is a program, too:
 * `node test/clients/install.ts FOLDER [--omit=dev]`.
 * @param options of `npm ci`; `--omit=dev` leaves out the clients that take long to install
 */
export async function install(folder: string, options: readonly string[]): Promise<void> {
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  for (const name of ['package.json', 'package-lock.json']) {
    await copyFile(join(MANIFEST, name), join(folder, name))
  }
  await copyFile(join(MANIFEST, '../../.npmrc'), join(folder, '.npmrc'))
  await cp(join(MANIFEST, 'absent'), join(folder, 'absent'), { recursive: true })
  const args = ['ci', '--ignore-scripts', '--prefer-offline', '--loglevel=error', ...options]
  const child = spawn('npm', args, { cwd: folder, stdio: ['ignore', 'inherit', 'inherit'] })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`npm ci ended with ${code}`)
  await writeFile(join(folder, COMPLETE), '')
}

if (import.meta.main) {
  const [folder, ...options] = process.argv.slice(2)
  if (folder === undefined) throw new Error('name a folder')
  await install(folder, options)
}
