"""Virtual time: jumps, threads, refusals, deadlocks."""

from __future__ import annotations

import asyncio
import concurrent.futures
import gc
import os
import signal
import socket
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soundstage.clock import SystemClock, VirtualClock, VirtualLoop, run
from soundstage.errors import DeadlockError, InvalidStateError, NetworkForbiddenError
from support.cases import cases

fixed = cases(100)  # the same examples in every run


@pytest.mark.parametrize("days", [1, 365, 5_000])
def test_waiting_takes_no_time_of_the_machine(days):
    async def main():
        await asyncio.sleep(days * 86_400)
        return asyncio.get_running_loop().time()

    assert run(main()) == days * 86_400


@fixed
@given(st.lists(st.integers(0, 5), max_size=30))
def test_timers_fire_in_the_order_of_time_and_those_of_one_moment_in_the_order_of_setting(delays):
    async def main():
        fired = []

        async def wait(number, delay):
            await asyncio.sleep(delay)
            fired.append((asyncio.get_running_loop().time(), number))

        await asyncio.gather(*(wait(number, delay) for number, delay in enumerate(delays)))
        return fired

    fired = run(main())
    assert [time for time, _ in fired] == sorted(delays)
    assert fired == sorted(fired)


def test_a_cancelled_timer_does_not_fire_and_does_not_move_time():
    async def main():
        loop = asyncio.get_running_loop()
        fired = []
        loop.call_later(5, fired.append, "late").cancel()
        loop.call_later(1, fired.append, "early")
        await asyncio.sleep(2)
        return fired, loop.time()

    assert run(main()) == (["early"], 2)


def test_timers_of_asyncio_and_of_the_loop_can_be_compared():
    loop = VirtualLoop(VirtualClock())
    ours, other = loop.call_at(1, print), asyncio.TimerHandle(2, print, (), loop)
    assert ours < other
    assert not other < ours
    loop.close()
    with pytest.raises(RuntimeError, match="closed"):
        loop.call_at(1, print)


def test_a_timeout_of_asyncio_follows_virtual_time():
    async def main():
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(10):
                await asyncio.Event().wait()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.Event().wait(), 5)
        return asyncio.get_running_loop().time()

    assert run(main()) == 15


def test_cancelling_a_task_that_sleeps_leaves_time_where_it_is():
    async def main():
        task = asyncio.create_task(asyncio.sleep(100))
        await asyncio.sleep(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return asyncio.get_running_loop().time()

    assert run(main()) == 1


def test_time_stands_still_while_a_thread_works():
    async def main():
        gate = threading.Event()
        started = threading.Event()

        def work():
            started.set()
            gate.wait()
            return "done"

        job = asyncio.create_task(asyncio.to_thread(work))
        release = asyncio.create_task(asyncio.to_thread(lambda: (started.wait(), gate.set())))
        assert await job == "done"
        await release
        return asyncio.get_running_loop().time()

    assert run(main()) == 0


@pytest.mark.parametrize("number", range(20))
def test_a_run_that_has_used_threads_ends_without_an_error(number):
    async def main():
        return await asyncio.gather(*(asyncio.to_thread(pow, number, 2) for _ in range(3)))

    assert run(main()) == [number**2] * 3


def test_time_stands_still_for_a_job_that_nobody_waits_for_any_more():
    async def main():
        gate, times = threading.Event(), []
        loop = asyncio.get_running_loop()

        def work():
            gate.wait()
            times.append(loop.time())

        job = loop.run_in_executor(None, work)
        job.cancel()
        loop.call_soon(gate.set)
        await asyncio.sleep(50)
        return times

    assert run(main()) == [0]


def test_a_job_that_is_cancelled_before_it_starts_does_not_hold_time():
    async def main():
        loop = asyncio.get_running_loop()
        gate = threading.Event()
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            first = loop.run_in_executor(pool, gate.wait)
            second = loop.run_in_executor(pool, print)
            second.cancel()
            await asyncio.sleep(0)
            gate.set()
            await first
        await asyncio.sleep(10)
        return loop.time()

    assert run(main()) == 10


def test_an_executor_of_ones_own_is_used():
    async def main():
        loop = asyncio.get_running_loop()
        loop.set_default_executor(concurrent.futures.ThreadPoolExecutor(1, thread_name_prefix="mine"))
        return await asyncio.to_thread(lambda: threading.current_thread().name)

    assert run(main()).startswith("mine")


def test_a_job_that_raises_raises_in_the_task_that_waits():
    async def main():
        await asyncio.to_thread(int, "x")

    with pytest.raises(ValueError, match="invalid literal"):
        run(main())


def test_what_another_thread_hands_in_is_seen_before_time_moves():
    async def main():
        loop = asyncio.get_running_loop()
        seen = []
        await asyncio.to_thread(lambda: loop.call_soon_threadsafe(lambda: seen.append(loop.time())))
        await asyncio.sleep(3)
        return seen

    assert run(main()) == [0]


def _refused(loop):
    pair = socket.socketpair()
    return pair, {
        "create_connection": lambda: loop.create_connection(asyncio.Protocol, "example.com", 443),
        "create_server": lambda: loop.create_server(asyncio.Protocol, "127.0.0.1", 0),
        "create_unix_connection": lambda: loop.create_unix_connection(asyncio.Protocol, "/x"),
        "create_unix_server": lambda: loop.create_unix_server(asyncio.Protocol, "/x"),
        "create_datagram_endpoint": lambda: loop.create_datagram_endpoint(asyncio.DatagramProtocol),
        "connect_accepted_socket": lambda: loop.connect_accepted_socket(asyncio.Protocol, pair[0]),
        "connect_read_pipe": lambda: loop.connect_read_pipe(asyncio.Protocol, pair[0]),
        "connect_write_pipe": lambda: loop.connect_write_pipe(asyncio.Protocol, pair[0]),
        "getaddrinfo": lambda: loop.getaddrinfo("example.com", 80),
        "getnameinfo": lambda: loop.getnameinfo(("127.0.0.1", 80)),
        "sock_accept": lambda: loop.sock_accept(pair[0]),
        "sock_connect": lambda: loop.sock_connect(pair[0], ("example.com", 80)),
        "sock_recv": lambda: loop.sock_recv(pair[0], 1),
        "sock_sendall": lambda: loop.sock_sendall(pair[0], b"x"),
        "subprocess_exec": lambda: asyncio.create_subprocess_exec(sys.executable, "-V"),
        "subprocess_shell": lambda: asyncio.create_subprocess_shell("true"),
    }


def test_sockets_pipes_and_processes_are_refused_with_the_call_that_was_made():
    async def main():
        pair, calls = _refused(asyncio.get_running_loop())
        try:
            for name, call in calls.items():
                with pytest.raises(NetworkForbiddenError) as caught:
                    await call()
                assert name in caught.value.seen
                assert "SystemClock()" in caught.value.hint
        finally:
            for end in pair:
                end.close()

    run(main())


def test_the_refusal_names_the_host():
    async def main():
        await asyncio.open_connection("example.com", port=443)

    with pytest.raises(NetworkForbiddenError, match=r"'example.com', port=443|'example.com', 443"):
        run(main())


@pytest.mark.parametrize("method", ["add_reader", "add_writer"])
def test_waiting_for_a_file_is_refused(method):
    async def main():
        getattr(asyncio.get_running_loop(), method)(0, print)

    with pytest.raises(NetworkForbiddenError, match=method):
        run(main())


async def _wait_for_nothing():
    await asyncio.Event().wait()


def test_a_deadlock_names_every_task_and_the_lines_at_which_it_waits():
    async def main():
        other = asyncio.create_task(_wait_for_nothing(), name="the app")
        await other

    with pytest.raises(DeadlockError) as caught:
        run(main())
    seen = caught.value.seen
    assert "the app waits at" in seen
    assert "test_loop.py" in seen
    assert "(_wait_for_nothing)" in seen
    assert "main)" in seen
    assert "within=" in caught.value.hint


def test_a_deadlock_leaves_no_pending_task_and_no_warning(caplog):
    ended = []

    async def app():
        try:
            await _wait_for_nothing()
        finally:
            await asyncio.sleep(1)
            ended.append("app")

    async def main():
        task = asyncio.create_task(app())
        try:
            await _wait_for_nothing()
        finally:
            ended.append("main")
            await task

    with pytest.raises(DeadlockError) as caught:
        run(main())
    gc.collect()
    assert sorted(ended) == ["app", "main"]
    assert not caplog.records
    assert not hasattr(caught.value, "__notes__")


def test_a_deadlock_tells_what_went_wrong_while_the_tasks_were_ended():
    async def app():
        try:
            await _wait_for_nothing()
        finally:
            raise ValueError("the real cause")

    async def main():
        await asyncio.create_task(app(), name="the app")

    with pytest.raises(DeadlockError) as caught:
        run(main())
    assert "the app ended with ValueError: the real cause" in caught.value.__notes__


def test_a_generator_that_waits_is_found_too():
    async def numbers():
        await _wait_for_nothing()
        yield 1

    async def main():
        async for _ in numbers():
            pass

    with pytest.raises(DeadlockError, match="main"):
        run(main())


def test_a_timer_in_infinite_time_is_no_timer():
    async def main():
        await asyncio.sleep(float("inf"))

    with pytest.raises(DeadlockError, match="every task waits"):
        run(main())


def test_an_infinite_timer_can_be_cancelled():
    async def main():
        task = asyncio.create_task(asyncio.sleep(float("inf")))
        await asyncio.sleep(1)
        task.cancel()
        return await asyncio.gather(task, return_exceptions=True)

    assert isinstance(run(main())[0], asyncio.CancelledError)


def test_polling_in_vain_ends_after_so_many_jumps():
    async def poll():
        while True:
            await asyncio.sleep(0.01)

    async def main():
        await asyncio.gather(asyncio.create_task(poll(), name="the poller"), _wait_for_nothing())

    with pytest.raises(DeadlockError, match="has jumped 100 times") as caught:
        run(main(), clock=VirtualClock(max_jumps=100))
    assert "the poller waits at" in caught.value.seen


def test_a_task_that_refuses_to_end_does_not_hang_the_run(caplog):
    async def stubborn():
        while True:
            try:
                await _wait_for_nothing()
            except asyncio.CancelledError:
                continue

    with pytest.raises(DeadlockError):
        run(stubborn())
    gc.collect()


def test_run_returns_the_result_and_raises_the_error_as_it_was_raised():
    error = KeyError("mine")

    async def fail():
        raise error

    async def answer():
        return 42

    assert run(answer()) == 42
    with pytest.raises(KeyError) as caught:
        run(fail())
    assert caught.value is error


def test_an_interrupt_is_not_swallowed():
    cleaned = []

    async def main():
        signal.raise_signal(signal.SIGINT)
        try:
            await asyncio.sleep(1000)
        finally:
            cleaned.append(True)

    with pytest.raises(KeyboardInterrupt):
        run(main())
    assert cleaned == [True]


def test_an_interrupt_reaches_a_run_that_waits_for_a_thread():
    async def main():
        await asyncio.to_thread(lambda: os.kill(os.getpid(), signal.SIGINT))
        await asyncio.sleep(1000)

    with pytest.raises(KeyboardInterrupt):
        run(main())


def test_on_a_system_clock_the_loop_is_an_ordinary_one():
    async def main():
        reader, writer = await asyncio.open_connection(*address)
        writer.close()
        await writer.wait_closed()
        return await reader.read()

    with socket.create_server(("127.0.0.1", 0)) as server:
        address = server.getsockname()

        def hang_up():
            server.accept()[0].close()

        accept = threading.Thread(target=hang_up)
        accept.start()
        assert run(main(), clock=SystemClock()) == b""
        accept.join()


def test_what_is_no_coroutine_is_refused():
    with pytest.raises(TypeError, match=r"call the function, run\(main\(\)\)"):
        run(_wait_for_nothing)


def test_a_clock_of_another_kind_is_refused_without_a_warning():
    with pytest.raises(TypeError, match="expected a SystemClock or a VirtualClock, got str"):
        run(_wait_for_nothing(), clock="noon")
    gc.collect()


def test_running_inside_a_running_loop_is_refused_without_a_warning():
    async def main():
        run(_wait_for_nothing())

    with pytest.raises(InvalidStateError, match="already running"):
        asyncio.run(main())
    gc.collect()
