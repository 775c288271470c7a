import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { requirePrograms, skip } from '../support/skip.ts'
import { Machine, run, whyNoMachine } from './deployment/machine.ts'

const PAGE = readFileSync('server/deploy/README.md', 'utf8')
const UNITS = ['hub@8402', 'jobs', 'migrate', 'backup'].map((name) => `agenthub-${name}.service`)

/** Returns the commands of a section, block by block. */
const blocksOf = (heading: string): readonly string[] =>
  [
    ...PAGE.slice(PAGE.indexOf(`\n## ${heading}\n`))
      .split(/\n## (?!A )/, 2)
      .join('')
      .matchAll(/^```sh\n(.*?)^```$/gms),
  ].map(([, commands = '']) => commands)

/** The values that the page asks for. No node responds, which a hub survives. */
const VALUES = `
export DOMAIN=hub.example.org RPC_URL=http://127.0.0.1:1
export TREASURY=0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed
`
/** Needs a public machine; a certificate of its own is in the same place. */
const isCertbot = (block: string): boolean => block.includes('certbot')
const CERTIFICATE = `
live=/etc/letsencrypt/live/$DOMAIN
mkdir -p $live
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=$DOMAIN \
  -addext subjectAltName=DNS:$DOMAIN -keyout $live/privkey.pem -out $live/fullchain.pem 2> /dev/null
cat $live/fullchain.pem >> /etc/ssl/certs/ca-certificates.crt
echo "127.0.0.1 $DOMAIN localhost" > /etc/hosts
`
/** Services that Debian starts when their packages are installed. */
const DEBIAN_SERVICES = 'service postgresql start; service redis-server start; service nginx start'

/** Prints what the page promises, one fact a line. */
const FACTS = `
ls /var/backups/agenthub/*/manifest.json
ip addr add 192.0.2.7/32 dev lo
curl -s --interface 192.0.2.7 -H 'X-Forwarded-For: 6.6.6.6' -o /dev/null https://$DOMAIN/v1/services
grep -oh '"/v1/services","status":200,"client":"[0-9.]*"' /var/log/agenthub-hub@*.log
echo "http: $(curl -s -o /dev/null -w '%{http_version} %{http_code}' https://$DOMAIN/health)"
echo "plain: $(curl -s -o /dev/null -w '%{http_code} %{redirect_url}' http://$DOMAIN/health)"
echo "metrics: $(curl -s -o /dev/null -w '%{http_code}' https://$DOMAIN/metrics)"
head -c 30000000 /dev/zero > /root/large
json='Content-Type: application/json'
echo "large: $(curl -s -H "$json" --data-binary @/root/large https://$DOMAIN/v1/keys | head -c 900)"
for i in $(seq 30); do
  up=$(curl -s 'http://127.0.0.1:9090/api/v1/query?query=sum(up)')
  case $up in *'"2"'*) break ;; esac
  sleep 1
done
echo "scraped: $up"
jobs=$(curl -s 'http://127.0.0.1:9090/api/v1/query?query=count(hub_job_success_seconds)')
echo "jobs: $jobs"
echo "rules: $(curl -s http://127.0.0.1:9090/api/v1/rules | grep -o '"health":"ok"' | wc -l)"
`
/** Asks the hub without a pause while it is upgraded, and prints how many requests failed. */
const UPGRADE_LOAD = `
(while [ ! -e /root/upgraded ]; do
  curl -s -o /dev/null -w '%{http_code}\\n' "https://$DOMAIN/health" || echo failed
done > /root/answers) & load=$!
`
const COUNT_ANSWERS = `
touch /root/upgraded
wait $load
echo "answers: $(sort /root/answers | uniq -c | xargs)"
`

describe('the page for operators', function () {
  this.timeout(1_800_000)

  it('leads from an empty Debian to two hubs that upgrades do not interrupt', function () {
    const reason = whyNoMachine()
    if (reason !== undefined) skip(this, reason)
    const machine = new Machine()
    try {
      const [, packages = '', ...blocks] = blocksOf('A Debian machine')
      const [upgrade = ''] = blocksOf('Upgrades')
      run('git', 'archive', '--output', join(machine.root, 'root/hub.tar'), 'HEAD')
      machine.write('usr/local/bin/git', '#!/bin/sh\ncat /root/hub.tar\n')
      const installed = machine.run(`${VALUES}${packages}`, { online: true })
      expect(installed.status, installed.stderr.slice(-3_000)).to.equal(0)
      cpSync(
        join(import.meta.dirname, 'deployment/systemctl'),
        join(machine.root, 'usr/local/bin/systemctl'),
      )
      const steps = blocks.map((block) => (isCertbot(block) ? CERTIFICATE : block))
      const script = [
        VALUES,
        DEBIAN_SERVICES,
        'cd /opt/agenthub',
        ...steps,
        FACTS,
        UPGRADE_LOAD,
        upgrade,
      ]
      const { status, stdout, stderr } = machine.run([...script, COUNT_ANSWERS].join('\n'))
      const end = `${stdout.slice(-3_000)}\n${stderr.slice(-3_000)}`
      expect(status, end).to.equal(0)
      expect(stdout).to.include('"/v1/services","status":200,"client":"192.0.2.7"\n')
      expect(stdout).to.include('http: 2 200\n')
      expect(stdout).to.include('plain: 308 https://hub.example.org/health\n')
      expect(stdout).to.include('metrics: 404\n')
      expect(stdout, 'of the hub, not of nginx').to.match(/large: \{.*"charged_microdollars"/)
      expect(stdout).to.match(/scraped: .*"2"/)
      expect(stdout).to.match(/jobs: .*"value":\[[\d.]+,"\d+"\]/)
      const [, rules] = /rules: (\d+)/.exec(stdout)!
      expect(Number(rules)).to.be.at.least(20)
      expect(stdout).to.match(/answers: \d+ 200\n/)
    } finally {
      machine.remove()
    }
  })

  it('has units that systemd finds sound, and exposed by at most 2.5', function () {
    requirePrograms(this, 'systemd-analyze')
    const root = mkdtempSync(join(tmpdir(), 'agenthub-test-'))
    try {
      cpSync('server/deploy/systemd', join(root, 'etc/systemd/system'), { recursive: true })
      for (const unit of UNITS) {
        const args = [
          'security',
          '--offline=true',
          `--root=${root}`,
          '--threshold=25',
          '--no-pager',
          unit,
        ]
        const { status, stdout } = spawnSync('systemd-analyze', args, { encoding: 'utf8' })
        expect(status, stdout).to.equal(0)
        const checked = spawnSync('systemd-analyze', ['verify', `--root=${root}`, unit], {
          encoding: 'utf8',
        })
        const faults = checked.stderr
          .split('\n')
          .filter((line) => /unknown|invalid|failed to parse/i.test(line))
        expect(faults).to.deep.equal([])
      }
    } finally {
      rmSync(root, { recursive: true })
    }
  })
})
