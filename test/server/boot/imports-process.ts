import { registerHooks } from 'node:module'
import { resolveModulesFaster } from '../../../server/boot/resolve-modules.ts'

/** Program: imports modules one after another, and prints how all imports were resolved. */
const [how, ...entries] = process.argv.slice(2)
if (how === 'faster') resolveModulesFaster()
const resolved: string[] = []
registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context)
    if (context.conditions.includes('import')) {
      resolved.push(`${context.parentURL} ${specifier} ${found.url} ${found.format}`)
    }
    return found
  },
})
const outcomes: unknown[] = []
for (const entry of entries) {
  const imported = await import(entry).catch((error: NodeJS.ErrnoException) => error)
  outcomes.push(
    imported instanceof Error ? (imported as NodeJS.ErrnoException).code : imported.default,
  )
}
process.stdout.write(JSON.stringify({ outcomes, resolved: resolved.sort() }))
