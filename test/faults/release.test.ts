import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { notesOf } from '../support/release.ts'

describe('a release', function () {
  this.timeout(600_000)

  it('has the same bytes when it is built again, and a signature that OpenSSL verifies', () => {
    const folder = mkdtempSync(join(tmpdir(), 'agenthub-test-'))
    const at = (...names: readonly string[]): string => join(folder, ...names)
    const openssl = (...args: readonly string[]): string =>
      execFileSync('openssl', args, { encoding: 'utf8' })
    try {
      openssl('genpkey', '-algorithm', 'ed25519', '-out', at('key.pem'))
      openssl('pkey', '-in', at('key.pem'), '-pubout', '-out', at('key.pub'))
      const names = ['first', 'second'].map((name) => {
        execFileSync('npm', ['run', 'release', '--', at(name), at('key.pem')], { stdio: 'ignore' })
        return readdirSync(at(name))
      })
      const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
      const packages = ['', 'cli-'].map((kind) => `agenthub-${kind}${version}.tgz`)
      const others = ['NOTES.md', 'SHA256SUMS', 'SHA256SUMS.sig', 'sbom.cdx.json']
      expect(names[0]).to.have.members([...packages, ...others])
      expect(names[1]).to.deep.equal(names[0])
      for (const name of names[0]!) {
        const same = readFileSync(at('first', name)).equals(readFileSync(at('second', name)))
        expect(same, name).to.equal(true)
      }
      execFileSync('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { cwd: at('first') })
      const key = ['-rawin', '-pubin', '-inkey', at('key.pub')]
      const files = ['-in', at('first/SHA256SUMS'), '-sigfile', at('first/SHA256SUMS.sig')]
      expect(openssl('pkeyutl', '-verify', ...key, ...files)).to.include('Verified Successfully')
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  it('has the notes of its version', () => {
    const changelog = '# C\n\n## [Unreleased]\n\n- Next.\n\n## [1.0.0]\n\n- First.\n'
    expect(notesOf(changelog, '1.0.0')).to.equal('# AgentHub 1.0.0\n\n- First.\n')
    expect(notesOf(changelog, '2.0.0')).to.include('- Next.')
    expect(() => notesOf('# C\n', '1.0.0')).to.throw('no section')
    const own = notesOf(readFileSync('.github/CHANGELOG.md', 'utf8'), '0.0.0')
    for (const heading of ['Downtime', 'New variables', 'Irreversible']) {
      expect(own).to.match(new RegExp(`^- ${heading}: `, 'm'))
    }
  })
})
