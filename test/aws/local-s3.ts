import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3'
import { startEngine } from '#bin/local/engine.ts'
import { installEngine, isEngineInstalled } from '#bin/local/engine-install.ts'
import { type LocalAws, ROOT } from '#bin/local/environment.ts'
import { checkPrerequisites } from '#bin/local/prerequisites.ts'
import { freePort } from '../support/free-port.ts'

export interface LocalS3 {
  aws: LocalAws
  /** The name of an existing, empty bucket. */
  bucket: string
  /** A client that bypasses the code under test. */
  client: S3Client
  stop(): Promise<void>
}

/** Starts the S3 of the local AWS engine, with a bucket. @param proxyPort the port of a proxy before it */
export async function startLocalS3(proxyPort?: number): Promise<LocalS3> {
  if (!isEngineInstalled()) {
    await installEngine((await checkPrerequisites()).python, new AbortController().signal)
  }
  const port = await freePort()
  const directory = join(ROOT, '.build/local', String(port))
  const engine = await startEngine({ port, directory, ...(proxyPort !== undefined && { proxyPort }) })
  const client = new S3Client(engine.aws)
  const bucket = 'files-of-the-tests'
  await client.send(new CreateBucketCommand({ Bucket: bucket }))
  return {
    aws: engine.aws,
    bucket,
    client,
    async stop() {
      client.destroy()
      await engine.stop()
      await rm(directory, { recursive: true, force: true })
    },
  }
}
