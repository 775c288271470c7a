import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { Context } from '../context.ts'
import { Failure } from '../failure.ts'
import { readText, replaceFile } from '../files.ts'
import { table } from '../terminal.ts'
import { CLIENTS, type Client, type HubAccess, type MachinePaths } from './clients.ts'
import { apply, CannotEdit, diff, type Edit, undo } from './edit.ts'
import { findLauncher, type TryResult, tryLauncher } from './launcher.ts'
import { Manifest } from './manifest.ts'

export interface InstallFlags {
  readonly scope?: string
  readonly remove?: boolean
  readonly dryRun?: boolean
  readonly print?: boolean
  readonly list?: boolean
  readonly inlineKey?: boolean
}

type InstallOutcome = 'installed' | 'unchanged' | 'removed' | 'absent' | 'would change' | 'refused'

interface InstallResult {
  readonly client: string
  readonly file: string
  readonly done: InstallOutcome
  readonly detail?: string
}

/** Installs the hub as an MCP server in assistants, or removes it. */
export async function install(
  context: Context,
  ids: readonly string[],
  flags: InstallFlags,
): Promise<void> {
  const { terminal, settings } = context
  const places: MachinePaths = { platform: process.platform, home: homedir(), env: settings.env }
  if (flags.list) return list(context, places)
  const chosen = selectClients(ids, places, flags)
  if (chosen.length === 0) {
    const hint = 'Name one: hub install claude-code. `hub install --list` shows all.'
    throw new Failure('usage', 'No known assistant was found on this machine.', hint)
  }
  const reach = await createAccess(context, flags)
  if (flags.print) return printEntries(context, chosen, places, reach)
  const tried =
    flags.remove || flags.dryRun ? undefined : await tryLauncher(reach.launcher, settings.env)
  const manifest = new Manifest(context.store)
  const results: InstallResult[] = []
  for (const client of chosen) {
    const file = configFile(client, places, flags)
    const work = flags.remove ? removeFrom : installInto
    results.push(await work({ context, manifest, client, file, reach, flags }))
  }
  await terminal.result({ clients: results }, () => formatResults(results))
  if (tried && results.some(({ done }) => done === 'installed')) report(context, tried)
  const refused = results.filter(({ done }) => done === 'refused')
  if (refused.length > 0) {
    throw new Failure(
      'error',
      `${refused.length} could not be edited.`,
      'See `hub install --print`.',
    )
  }
}

/** Reports what an assistant will get from the command that was tried. */
function report({ terminal, hub }: Context, tried: TryResult): void {
  if ('tools' in tried) {
    terminal.note(`It works: ${tried.tools} tools of ${hub}. Restart running assistants.`)
  } else terminal.warn(`Installed, but not working yet: ${tried.reason}`)
}

const formatResults = (results: readonly InstallResult[]): string =>
  table(
    ['assistant', '', 'file'],
    results.map(({ client, done, file, detail }) => [
      client,
      done,
      detail ? `${file}: ${detail}` : file,
    ]),
  )

async function list({ terminal }: Context, places: MachinePaths): Promise<void> {
  const rows = CLIENTS.map((client) => ({
    client: client.id,
    name: client.name,
    found: existsSync(client.detect(places)),
    file: client.file(places),
  }))
  await terminal.result({ clients: rows }, () =>
    table(
      ['assistant', 'here', 'file'],
      rows.map(({ client, found, file }) => [client, found ? 'yes' : '', file]),
    ),
  )
}

/** Selects the named assistants, or all that are installed. */
function selectClients(
  ids: readonly string[],
  places: MachinePaths,
  { scope = 'user' }: InstallFlags,
): Client[] {
  if (scope !== 'user' && scope !== 'project') {
    throw new Failure('usage', `Not a scope: ${scope}`, 'user or project')
  }
  const unknown = ids.filter((id) => !CLIENTS.some((client) => client.id === id))
  if (unknown.length > 0) {
    const known = CLIENTS.map(({ id }) => id).join(', ')
    throw new Failure('usage', `Unknown assistant: ${unknown.join(', ')}`, known)
  }
  const named = CLIENTS.filter(({ id }) => ids.includes(id))
  const found = CLIENTS.filter((client) => existsSync(client.detect(places)))
  const chosen = ids.length > 0 ? named : found
  return scope === 'user' ? chosen : chosen.filter(({ projectFile }) => projectFile !== undefined)
}

const configFile = (client: Client, places: MachinePaths, { scope }: InstallFlags): string =>
  scope === 'project' ? join(process.cwd(), client.projectFile!) : client.file(places)

async function createAccess(
  context: Context,
  { inlineKey, scope, print, dryRun, remove }: InstallFlags,
): Promise<HubAccess> {
  const { settings, store, hub } = context
  if (inlineKey && scope === 'project') {
    throw new Failure(
      'usage',
      'A key in a project file ends up in version control.',
      'Leave out --inline-key.',
    )
  }
  const launcher = await findLauncher(context, !(print || dryRun || remove))
  const { command, args } = launcher
  return {
    url: `${settings.mcpUrl ?? hub}/mcp`,
    launcher,
    bridge: { command, args: [...args, 'mcp'] },
    helper: [command, ...args, 'auth-header'].map(quoted).join(' '),
    keyFile: store.path('api-key'),
    hasVariable: settings.apiKey !== undefined,
    inlineKey: inlineKey ? await store.apiKey() : undefined,
  }
}

const quoted = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`

async function printEntries(
  { terminal }: Context,
  chosen: readonly Client[],
  places: MachinePaths,
  reach: HubAccess,
) {
  const snippets = chosen.map((client) => ({
    client: client.id,
    file: client.file(places),
    path: client.path,
    entry: client.entry(reach),
  }))
  await terminal.result({ clients: snippets }, () =>
    snippets
      .map(
        ({ file, path, entry }) =>
          `${file}, at ${path.join('.')}:\n${JSON.stringify(entry, null, 2)}`,
      )
      .join('\n\n'),
  )
}

interface Job {
  readonly context: Context
  readonly manifest: Manifest
  readonly client: Client
  readonly file: string
  readonly reach: HubAccess
  readonly flags: InstallFlags
}

async function installInto({
  context,
  manifest,
  client,
  file,
  reach,
  flags,
}: Job): Promise<InstallResult> {
  const { store, terminal } = context
  const before = await readText(file)
  const resultOf = (done: InstallOutcome, detail?: string): InstallResult => ({
    client: client.id,
    file,
    done,
    ...(detail && { detail }),
  })
  let edit: Edit | undefined
  try {
    edit = client.editor.put(before ?? '', client.path, client.entry(reach))
  } catch (error) {
    if (error instanceof CannotEdit) return resultOf('refused', error.message)
    throw error
  }
  const keepKey = async () => {
    if (client.needsKeyFile) await replaceFile(reach.keyFile, `${await store.apiKey()}\n`)
  }
  if (!edit) {
    if (!flags.dryRun) await keepKey() // it may be another one than before
    return resultOf('unchanged')
  }
  const after = apply(before ?? '', edit)
  if (flags.dryRun) {
    const secret = reach.inlineKey
    const shown = diff(file, before ?? '', after)
    terminal.note(secret ? shown.replaceAll(secret, 'ahk_…') : shown)
    return resultOf('would change')
  }
  await keepKey()
  const backup = before === undefined ? undefined : backupPath(file)
  if (backup) await replaceFile(backup, before!)
  await manifest.keep(file, { client: client.id, edit, created: before === undefined, backup })
  await replaceFile(file, after)
  return resultOf('installed')
}

async function removeFrom({ manifest, client, file, flags, context }: Job): Promise<InstallResult> {
  const resultOf = (done: InstallOutcome, detail?: string): InstallResult => ({
    client: client.id,
    file,
    done,
    ...(detail && { detail }),
  })
  const before = await readText(file)
  if (before === undefined) return resultOf('absent')
  const known = await manifest.find(file)
  let after: string | undefined
  try {
    const edit = (text: string) => client.editor.take(text, client.path)
    const undone = known && undo(before, known.edit)
    const taken = undone === undefined ? edit(before) : undefined
    after = undone ?? (taken && apply(before, taken))
  } catch (error) {
    if (error instanceof CannotEdit) return resultOf('refused', error.message)
    throw error
  }
  if (after === undefined) return resultOf('absent')
  if (flags.dryRun) {
    context.terminal.note(diff(file, before, after))
    return resultOf('would change')
  }
  if (known?.created && after.trim() === '') await rm(file)
  else await replaceFile(file, after)
  await manifest.forget(file)
  return resultOf('removed')
}

function backupPath(file: string): string {
  for (let n = 1; ; n++) {
    const name = `${file}.hub-backup-${n}`
    if (!existsSync(name)) return name
  }
}
