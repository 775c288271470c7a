import { expect } from 'chai'
import { readConfig } from '../../../core/config.ts'
import { backupCommand } from '../../../server/commands/backup/create.ts'
import { restoreCommand } from '../../../server/commands/backup/restore.ts'
import { runCommand } from '../../../server/commands/run-program.ts'
import { openBuckets } from '../../support/buckets.ts'
import { PASSPHRASE, useBackups } from './fixture.ts'

describe('the commands for backups', () => {
  const { database, at } = useBackups()

  it('back up into a bucket, and restore from it', async () => {
    await using buckets = await openBuckets()
    const saved = { ...process.env }
    Object.assign(process.env, {
      AWS_REGION: 'eu-central-1',
      AWS_ACCESS_KEY_ID: 'id',
      AWS_SECRET_ACCESS_KEY: 'secret',
    })
    let output = ''
    const write = (text: string) => (output += text)
    const connect = () => Promise.reject(new Error('opens its own'))
    const config = readConfig({
      HUB_BACKUP_PASSPHRASE: PASSPHRASE,
      HUB_BACKUP_TARGET: 's3://vault/hubs/one',
      HUB_BACKUP_ENDPOINT: buckets.endpoint,
      HUB_DATA_DIR: at('data'),
      DATABASE_URL: database().url,
    })
    const command = (name: 'backup' | 'restore', ...args: string[]) =>
      runCommand(name, (name === 'backup' ? backupCommand : restoreCommand)(config), {
        connect,
        args,
        write,
        tell: write,
      })
    try {
      expect(await command('backup'), output).to.equal(0)
      expect(output).to.match(/^s3:\/\/vault\/hubs\/one\/backup-\d{8}T\d{6}Z: [\d.]+ MiB of data/)
      expect([...buckets.objects.keys()][0]).to.match(/^\/vault\/hubs\/one\/backup-/)
      output = ''
      expect(await command('restore', '--to', at('from-bucket'), '--verify'), output).to.equal(0)
      expect(output).to.include('Ledger: sound').and.include('Outgoing payments: off')
      expect(await command('restore'), 'without --to').to.equal(2)
    } finally {
      process.env = saved
    }
  })
})
