/** A worker for the trip. It knows nothing of the orchestrator but the name of an endpoint. */

import { loadClientConnectConfig } from '@temporalio/envconfig';
import { NativeConnection, Worker } from '@temporalio/worker';

async function main() {
  const { connectionOptions, namespace } = loadClientConnectConfig();
  const connection = await NativeConnection.connect(connectionOptions);
  const worker = await Worker.create({
    connection,
    namespace,
    taskQueue: 'typescript-trips',
    workflowsPath: require.resolve('./workflows'),
  });
  await worker.run();
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
