import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { templateFiles } from '../../server/cli/plugin/template.ts'
import { commandsOf, findBlocks, isService } from './blocks.ts'
import {
  BEFORE,
  PLACEHOLDERS,
  PREPARATIONS,
  REFUSED,
  SKIPPED,
  SKIPPED_FILES,
} from './deviations.ts'

const ROOT = join(import.meta.dirname, '../..')

describe('the run of the READMEs', () => {
  const listed = execFileSync('git', ['ls-files', '*README.md'], { cwd: ROOT, encoding: 'utf8' })
  const files = listed.trim().split('\n')
  const blocks = files.flatMap((file) => findBlocks(file, readFileSync(join(ROOT, file), 'utf8')))
  const commands = blocks.filter(({ language }) => language === 'sh').flatMap(commandsOf)

  it('finds blocks in lists, joins continued lines and leaves out comments', () => {
    const markdown =
      '1. First:\n\n   ```sh\n   # so\n   curl x \\\n     -d 1   # why\n   cd y\n   ```\n'
    const [block] = findBlocks('x.md', markdown)
    expect(block).to.include({ line: 4, language: 'sh' })
    expect(commandsOf(block!)).to.deep.equal(['curl x -d 1', 'cd y'])
  })

  it('shows the service that `hub plugin new` creates', () => {
    const name = { name: 'word-count', provider: 'me', agenthub: '' }
    const shown = blocks.filter(({ file, text }) => file === 'README.md' && isService(text))
    expect(shown.map(({ text }) => text)).to.deep.equal([templateFiles(name)['index.ts']])
  })

  it('finds every block', () => {
    const fences = files.map((file) => readFileSync(join(ROOT, file), 'utf8').match(/^ *```/gm))
    expect(blocks.length).to.equal(fences.flatMap((each) => each ?? []).length / 2)
  })

  it('deviates only from commands that are there', () => {
    for (const [pattern] of [...SKIPPED, ...REFUSED, ...PLACEHOLDERS, ...BEFORE]) {
      const found = commands.filter((command) => command.search(pattern) >= 0)
      expect(found, String(pattern)).to.not.be.empty
    }
    expect(files).to.include.members(Object.keys({ ...PREPARATIONS, ...SKIPPED_FILES }))
  })
})
