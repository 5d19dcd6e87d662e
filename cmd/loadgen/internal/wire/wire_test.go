package wire_test

import (
	"bufio"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/cmd/loadgen/internal/wire"
)

// echo starts a server that answers every line with itself.
func echo(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				for s := bufio.NewScanner(c); s.Scan(); {
					fmt.Fprintln(c, s.Text())
				}
			}()
		}
	}()
	return l.Addr().String()
}

func dial(t *testing.T, k *wire.Link) (ask func(string) (string, error)) {
	t.Helper()
	c, err := net.Dial("tcp", k.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	r := bufio.NewReader(c)
	return func(s string) (string, error) {
		if _, err := fmt.Fprintln(c, s); err != nil {
			return "", err
		}
		if err := c.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
			return "", err
		}
		return r.ReadString('\n')
	}
}

func TestALinkCarriesIsCutAndMended(t *testing.T) {
	k, err := wire.Listen(echo(t))
	require.NoError(t, err)
	ask := dial(t, k)
	got, err := ask("hello")
	require.NoError(t, err)
	require.Equal(t, "hello\n", got)

	k.Cut()
	_, err = ask("anyone")
	require.Error(t, err, "the connection ends")
	_, err = dial(t, k)("anyone")
	require.Error(t, err, "and new ones do")

	k.Mend()
	got, err = dial(t, k)("back")
	require.NoError(t, err)
	require.Equal(t, "back\n", got)
	require.NoError(t, k.Close())
	_, err = net.Dial("tcp", k.Addr())
	require.Error(t, err)
}

func TestALinkDelaysAnswers(t *testing.T) {
	k, err := wire.Listen(echo(t))
	require.NoError(t, err)
	defer k.Close()
	ask := dial(t, k)
	k.Delay(50 * time.Millisecond)
	start := time.Now()
	_, err = ask("hello")
	require.NoError(t, err)
	require.GreaterOrEqual(t, time.Since(start), 50*time.Millisecond)
}

func TestALinkToNothingEndsItsConnections(t *testing.T) {
	k, err := wire.Listen("127.0.0.1:1")
	require.NoError(t, err)
	defer k.Close()
	_, err = dial(t, k)("hello")
	require.Error(t, err)
	_, err = wire.Listen("nowhere")
	require.Error(t, err)
}
